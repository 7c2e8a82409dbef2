@_exported public import ServiceFoundation
