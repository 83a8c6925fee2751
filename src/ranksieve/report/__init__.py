"""What people read: tables, figures and the report of a study."""
