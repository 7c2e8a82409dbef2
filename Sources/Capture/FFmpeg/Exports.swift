@_exported public import CaptureCore
