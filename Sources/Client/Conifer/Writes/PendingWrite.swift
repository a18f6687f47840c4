public import ConiferTree
import Foundation

/// A local write in the queue that the server has not finally answered.
public struct PendingWrite: Sendable, Hashable, Identifiable {
  /// Whether a pending write is a set, an update, or something that this version cannot read.
  public enum Kind: Sendable, Hashable {
    /// Replaces one place.
    case set
    /// Replaces several places at once, all or none.
    case update
    /// Something that this version cannot read: another program or a later version queued it. It is
    /// never sent; it stays in the queue until that program sends it, or until it is discarded.
    case other
  }

  /// The state of a pending write, which is queued, sent, of unknown outcome, or rejected.
  public enum State: Sendable, Hashable {
    /// It waits to be sent.
    case queued
    /// It was sent, and the answer is awaited.
    case sent
    /// It was sent, or may have been by a run of the app that was killed, and no answer came. It is sent again, or
    /// left to the app, as ``DatabaseConfiguration/unknownOutcome`` has it; it may be discarded before.
    case outcomeUnknown
    /// The server refused it: it waits for the app to retry, edit or discard it.
    case rejected(DatabaseError)
  }

  /// Its id, the same as its receipt gives.
  public let id: WriteReceipt.ID
  /// Whether it is a set, an update, or something else.
  public let kind: Kind
  /// The path of the call: that of a set, or the one that an update's paths begin at.
  public let path: Path
  /// The nodes that it replaces, with paths from the root and server values as they were written;
  /// none for ``Kind/other``.
  public let changes: [NodeChange]
  /// Its state.
  public let state: State
  /// How often it was sent, over all runs of the app. The sending of a set that was under way when the
  /// process was killed is not known any more; that of an increment is.
  public let attempts: Int
  /// When it was made, in milliseconds since 1970; 0 for ``Kind/other``.
  public let time: Int64

  /// A local write that the server has not finally answered.
  public init(
    id: WriteReceipt.ID, kind: Kind, path: Path, changes: [NodeChange], state: State,
    attempts: Int, time: Int64
  ) {
    self.id = id
    self.kind = kind
    self.path = path
    self.changes = changes
    self.state = state
    self.attempts = attempts
    self.time = time
  }

  /// What it writes, in the form that the call took: a value, or a dictionary of paths to values; nil
  /// for ``Kind/other``.
  public var value: Any? {
    switch kind {
    case .set, .other: changes.first.flatMap { ValueWriter.plain($0.node) }
    case .update:
      Dictionary(
        changes.map { change in
          let place = change.path.relative(to: path) ?? change.path
          return (
            String(place.description.dropFirst()), ValueWriter.plain(change.node) ?? NSNull() as Any
          )
        }, uniquingKeysWith: { $1 })
    }
  }
}
