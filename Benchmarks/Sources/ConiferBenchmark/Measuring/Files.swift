import CCounter
import Foundation

/// The files of a store.
enum Files {
  /// Bytes that the files below a directory take on their medium.
  static func allocatedBytes(_ directory: String) -> Int {
    paths(directory).reduce(0) { $0 + Int(counter_allocated_bytes($1)) }
  }

  /// Takes the files' pages out of the page cache, as far as the system does.
  static func dropCache(_ directory: String) {
    for path in paths(directory) {
      guard let file = FileHandle(forReadingAtPath: path) else { continue }
      // What is not written back stays.
      fsync(file.fileDescriptor)
      _ = counter_drop_cache(file.fileDescriptor)
      try? file.close()
    }
  }

  private static func paths(_ directory: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String }
    return (names ?? []).map { "\(directory)/\($0)" }.filter { path in
      var isDirectory: ObjCBool = false
      return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        && !isDirectory.boolValue
    }
  }
}
