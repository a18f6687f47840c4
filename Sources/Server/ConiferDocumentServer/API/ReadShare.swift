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
  private struct State {
    var bytes = 0
    var isExceeded = false
  }

  private let memory: ReadMemory
  private let state = Mutex(State())

  init(of memory: ReadMemory) { self.memory = memory }

  deinit {
    let held = count
    memory.bytes.withLock { $0 -= held }
  }

  /// About how many bytes are held now.
  var count: Int { state.withLock { $0.bytes } }

  /// Whether more was claimed than one request may have, whatever others have.
  var isExceeded: Bool { state.withLock { $0.isExceeded } }

  /// Claims more bytes, or gives some back where it is negative.
  ///
  /// - Returns: false when there is no room for more, of the request or of all; nothing more is claimed then.
  package func claim(_ bytes: Int) -> Bool {
    state.withLock { state in
      let held = state.bytes + bytes
      let isClaimed = memory.bytes.withLock { all in
        // Whoever has nothing yet may have a little, whatever others have.
        let fits =
          held <= memory.limits.read
          && (all + bytes <= memory.limits.reads || held <= memory.limits.reads / 1024)
        if bytes <= 0 || fits { all += bytes }
        return bytes <= 0 || fits
      }
      if isClaimed {
        state.bytes = held
      } else if held > memory.limits.read {
        state.isExceeded = true
      }
      return isClaimed
    }
  }

  /// Why a request is refused whose documents do not fit.
  package static let exceeded = StatusError(
    .resourceExhausted,
    "The documents take more memory than there is for a request, or for all at once. Ask for fewer, with a "
      + "limit or a page size, or try again later.")
}
