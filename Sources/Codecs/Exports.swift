// The modules that an import of this one brings along.
@_exported public import Basics
@_exported public import PreviewCore
