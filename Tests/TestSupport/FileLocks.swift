#if canImport(Glibc)
  import Foundation
  import Glibc

  /// The system's table of locks, which Linux shows.
  package enum FileLocks {
    /// The locks of files under a directory that last: a program that is being started briefly has
    /// copies of all open files.
    package static func lasting(under directory: String) throws -> [String] {
      var found = try all(under: directory)
      for _ in 0..<100 where !found.isEmpty {
        usleep(10_000)
        found = try all(under: directory)
      }
      return found
    }

    /// The lines of the table that name a file under a directory.
    package static func all(under directory: String) throws -> [String] {
      var files: Set<String> = []
      for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
        var info = stat()
        guard stat("\(directory)/\(name)", &info) == 0 else { continue }
        let device = UInt64(info.st_dev)
        let major = (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000
        let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
        // "1: POSIX ADVISORY WRITE 4711 08:01:1234 0 EOF", device in hex, inode in decimal.
        files.insert("\(hex(major)):\(hex(minor)):\(info.st_ino)")
      }
      // Its length is unknown, and it may be longer than one reading gives.
      let file = FileHandle(forReadingAtPath: "/proc/locks")
      let table = String(decoding: file?.readDataToEndOfFile() ?? Data(), as: UTF8.self)
      return table.split(separator: "\n").map(String.init).filter { line in
        line.split(separator: " ").contains { files.contains(String($0)) }
      }
    }

    private static func hex(_ number: UInt64) -> String {
      let text = String(number, radix: 16)
      return text.count < 2 ? "0" + text : text
    }
  }
#endif
