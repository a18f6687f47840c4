import ConiferKeyValue
import TestSupport

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Directories of plain files.
enum Files {
  /// The plain files of a directory with their bytes, by name.
  static func all(_ directory: String) -> [(name: String, bytes: Bytes)] {
    names(directory).map { ($0, Scratch.read(directory + "/" + $0)) }
  }

  /// The names of a directory's plain files, sorted.
  static func names(_ directory: String) -> [String] {
    Scratch.names(directory).filter { name in
      var info = stat()
      return stat(directory + "/" + name, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
    }
  }

  /// Makes a directory with those above it, and writes files into it.
  static func write(_ files: [(name: String, bytes: Bytes)], _ directory: String) {
    var path = ""
    for part in directory.split(separator: "/") {
      path += "/" + part
      mkdir(path, 0o755)
    }
    for file in files { Scratch.write(file.bytes, directory + "/" + file.name) }
  }

  /// A variable of the environment.
  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
