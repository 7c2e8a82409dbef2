@_exported public import GLPreview
