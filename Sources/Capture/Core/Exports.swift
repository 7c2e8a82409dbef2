// The modules that this module re-exports.
@_exported public import Codecs
@_exported public import VideoFormats
