"""Files as text: plain text, Markdown, HTML, PDF."""
