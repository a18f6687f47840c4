// Files and processes, for the tests.

import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A directory that is removed with its last reference.
final class TemporaryDirectory: Sendable {
  let path: String

  init() {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((base + "/conifer-lmdb-XXXXXX").utf8CString)
    _ = mkdtemp(&template)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Directory.remove(path) }
}

/// Calls on files.
enum Files {
  static var isRoot: Bool { getuid() == 0 }

  static func read(_ path: String) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var info = stat()
    fstat(file, &info)
    var bytes = [UInt8](repeating: 0, count: Int(info.st_size))
    let count = pread(file, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }

  /// The last page of 4 KiB.
  static func tail(_ path: String) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var info = stat()
    fstat(file, &info)
    var bytes = [UInt8](repeating: 0, count: 4096)
    _ = pread(file, &bytes, bytes.count, max(0, info.st_size - 4096))
    return bytes
  }

  static func write(_ path: String, _ bytes: [UInt8]) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    _ = pwrite(file, bytes, bytes.count, 0)
    close(file)
  }

  /// Replaces one byte of a file.
  static func patch(_ path: String, at offset: Int, _ byte: UInt8) {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    var byte = byte
    _ = pwrite(file, &byte, 1, off_t(offset))
    close(file)
  }

  static func setMode(_ path: String, _ mode: UInt32) { chmod(path, mode_t(mode)) }

  static func makeDirectory(_ path: String) { mkdir(path, 0o700) }

  /// Dies as a process does that the system kills.
  static func die() { kill(getpid(), SIGKILL) }
}
