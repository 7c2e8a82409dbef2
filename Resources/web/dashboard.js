// The dashboard.
