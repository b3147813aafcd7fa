"""Strategy graphs made smaller before they are solved."""
