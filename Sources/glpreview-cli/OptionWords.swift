// The library's words as words of the command line.
public import ArgumentParser
public import GLPreview

extension ChromaSubsampling: ExpressibleByArgument {}
extension EncodedFormat: ExpressibleByArgument {}
extension GPUChoice: ExpressibleByArgument {
  /// Reads the words of `--gpu`.
  public init?(argument: String) { self.init(argument) }
}
