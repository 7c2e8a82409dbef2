// GLPreview
