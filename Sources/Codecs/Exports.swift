// Re-exports the modules that users of this one need.
@_exported public import Basics
@_exported public import PreviewCore
