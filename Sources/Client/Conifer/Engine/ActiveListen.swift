import ConiferStorage
import ConiferSync

/// A listen that the server was asked for.
struct ActiveListen {
  /// How far the store knows a listen's query.
  enum Record {
    /// There is no store.
    case none
    /// Not yet, or it could not be stored. A plain one is stored with its first data, so that a listen
    /// costs no commit of its own.
    case new(TrackedQuery)
    /// With the next commit, which gives it its number.
    case numbering(TrackedQuery)
    /// It is stored.
    case stored(StoredQuery)
  }

  let listen: Listen
  var record = Record.none
  /// Whether all its data was stored since it began.
  var isWhole = false
  /// Whether storage lacks some of what the view shows, as a commit failed.
  var isBehind = false
  /// The hash of its data when the server was last asked, so that it is not computed again.
  var hash: ListenHash?

  /// What is stored of it; nil when nothing is.
  var stored: StoredQuery? {
    if case .stored(let stored) = record { stored } else { nil }
  }

  /// Whether all its data is stored, or about to be.
  var isComplete: Bool {
    switch record {
    case .none: false
    case .new(let query), .numbering(let query): query.isComplete
    case .stored(let stored): stored.query.isComplete
    }
  }
}
