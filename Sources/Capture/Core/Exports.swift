// The modules that an import of this one brings along.
@_exported public import Codecs
@_exported public import VideoFormats
