#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The programs that were built with the tests.
public enum BuiltProgram {
  /// The path of a program in the folder of the test program, or in one above; nil when there is none.
  public static func path(of name: String) -> String? {
    var folder = testProgram[...]
    while let slash = folder.lastIndex(of: "/") {
      folder = folder[..<slash]
      let path = "\(folder)/\(name)"
      var status = stat()
      if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG { return path }
    }
    return nil
  }

  private static var testProgram: String {
    #if os(Linux)
      if let path = realpath("/proc/self/exe", nil) {
        defer { free(path) }
        return String(cString: path)
      }
    #endif
    return CommandLine.arguments.first ?? ""
  }
}
