"""The teaching side: a folder per lab under content/, and what turns it into pages."""
