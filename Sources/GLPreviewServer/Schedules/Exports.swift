@_exported public import ServiceCore
