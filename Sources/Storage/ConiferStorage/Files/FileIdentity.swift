#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Which file a name stands for: another one once the file was replaced. It is found without opening the file.
package struct FileIdentity: Hashable, Sendable {
  private let volume: UInt64
  private let number: UInt64

  /// The file of a path; nil when there is none, or the system does not let us look.
  package init?(_ path: String) {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    volume = UInt64(truncatingIfNeeded: facts.st_dev)
    number = UInt64(truncatingIfNeeded: facts.st_ino)
  }
}
