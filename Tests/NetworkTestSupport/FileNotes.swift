#if Network
  import Foundation
  import Synchronization

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Lines at the end of a file, which are there when the process is killed after `add`.
  package final class FileNotes: Sendable {
    private let descriptor: Int32
    private let ends = Atomic(0)

    package init(_ path: String) throws {
      descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    package func add(_ line: String) {
      let bytes = Array("\(line)\n".utf8)
      _ = write(descriptor, bytes, bytes.count)
    }

    /// Counts a write whose end was noted; how many there are.
    package func countEnd() -> Int { ends.add(1, ordering: .relaxed).newValue }
  }
#endif
