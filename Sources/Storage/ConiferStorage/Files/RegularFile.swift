internal import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A regular file that another process put somewhere, open for reading.
///
/// Links are not followed, and what is no regular file, such as a pipe, keeps nobody waiting.
final class RegularFile {
  /// Why a file is not open.
  enum Failure: Error {
    case missing
    /// It is no regular file.
    case irregular
    /// The system does not let this process read it now.
    case unreadable
  }

  private let descriptor: Int32
  /// Its length when it was opened, in bytes.
  let length: Int

  init(_ path: String) throws(Failure) {
    var facts = stat()
    guard lstat(path, &facts) == 0 else {
      throw errno == ENOENT ? Failure.missing : Failure.unreadable
    }
    guard facts.st_mode & S_IFMT == S_IFREG else { throw Failure.irregular }
    let opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard opened >= 0 else { throw errno == ENOENT ? Failure.missing : Failure.unreadable }
    // Another one may have taken its place.
    guard fstat(opened, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      Platform.close(opened)
      throw Failure.unreadable
    }
    descriptor = opened
    length = Int(facts.st_size)
  }

  deinit { Platform.close(descriptor) }

  /// The first bytes; nil when they cannot be read.
  func bytes(limit: Int) -> Bytes? {
    Platform.read(descriptor, at: 0, limit: min(limit, length))
  }
}
