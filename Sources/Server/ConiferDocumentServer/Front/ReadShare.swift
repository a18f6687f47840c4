package import ConiferWire
import Synchronization

/// The memory that documents take which are read for requests and are not answered yet.
final class ReadMemory: Sendable {
  fileprivate let limits: DocumentServerBounds
  fileprivate let bytes = Mutex(0)

  init(_ limits: DocumentServerBounds) { self.limits = limits }

  /// About how many bytes are taken now.
  var count: Int { bytes.withLock { $0 } }
}

/// One request's part of the memory for documents that are read; it is given back when the share is released.
package final class ReadShare: Sendable {
  private let memory: ReadMemory
  private let held = Mutex(0)

  init(of memory: ReadMemory) { self.memory = memory }

  deinit {
    let held = held.withLock { $0 }
    memory.bytes.withLock { $0 -= held }
  }

  /// Claims more bytes, or gives some back where it is negative.
  ///
  /// - Returns: false when there is no room for more, of the request or of all; nothing more is claimed then.
  package func claim(_ bytes: Int) -> Bool {
    held.withLock { held in
      memory.bytes.withLock { all in
        let fits =
          held + bytes <= memory.limits.read
          // Whoever has nothing yet may have a little, whatever others have.
          && (all + bytes <= memory.limits.reads || held + bytes <= memory.limits.reads / 1024)
        guard bytes <= 0 || fits else { return false }
        held += bytes
        all += bytes
        return true
      }
    }
  }

  /// Why a request is refused whose documents do not fit.
  package static let exceeded = StatusError(
    .resourceExhausted,
    "The documents take more memory than there is for a request, or for all at once. Ask for fewer, with a "
      + "limit or a page size, or try again later.")
}
