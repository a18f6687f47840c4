/// A kind of broken promise that the kit distinguishes, by its established name.
///
/// Source: the anomaly names of Jepsen's and FoundationDB's reports, and of Adya's thesis for views.
public struct Anomaly: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
  /// The anomaly's stable name, as reports print it.
  public let rawValue: String

  /// The anomaly with a stable name; new ones may be added in later versions.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// A commit was acknowledged, and a crash that its durability covers lost it.
  public static let lostAcknowledged = Anomaly(rawValue: "lost acknowledged operation")
  /// Something that a commit removed came back.
  public static let resurrected = Anomaly(rawValue: "resurrected operation")
  /// One operation took effect twice.
  public static let duplicate = Anomaly(rawValue: "duplicate operation")
  /// The queue gives writes in another order than they came.
  public static let reordered = Anomaly(rawValue: "reordered lane")
  /// A commit is there, and an earlier one is not.
  public static let hole = Anomaly(rawValue: "hole in the prefix")
  /// A part of a commit is there, and another part is not.
  public static let halfBatch = Anomaly(rawValue: "half batch")
  /// A view shows a commit that came after it, or lacks one that came before it.
  public static let staleView = Anomaly(rawValue: "stale view")
  /// A view shows what was never committed.
  public static let dirtyView = Anomaly(rawValue: "dirty view")
  /// Data is there that no commit wrote.
  public static let phantom = Anomaly(rawValue: "phantom data")
  /// Pinned or active data was evicted, or a pin is gone.
  public static let evictedPin = Anomaly(rawValue: "evicted pin")
  /// A query is marked complete and its data is not.
  public static let falseComplete = Anomaly(rawValue: "complete without data")
  /// Stored counts differ from a recount.
  public static let usageDrift = Anomaly(rawValue: "usage drift")
  /// A read gave other bytes than were written, without an error.
  public static let wrongData = Anomaly(rawValue: "wrong data")
  /// Damage destroyed data that must not be lost, or was not reported.
  public static let silentLoss = Anomaly(rawValue: "silent loss")
  /// A report of damage says that more is lost than can be.
  package static let wrongReport = Anomaly(rawValue: "wrong report")
  /// A commit succeeded after a failed sync, before reopening.
  public static let successAfterFailedSync = Anomaly(rawValue: "success after a failed sync")
  /// A number that must never repeat was given out twice.
  public static let reusedID = Anomaly(rawValue: "reused id")
  /// A file descriptor, lock, thread or view outlived its store.
  public static let leak = Anomaly(rawValue: "leak")
  /// A store that must open was refused, or an operation failed that had to succeed.
  public static let refused = Anomaly(rawValue: "refused")
  /// An error had the wrong code, or none was thrown.
  public static let wrongError = Anomaly(rawValue: "wrong error")
  /// The process died.
  public static let trap = Anomaly(rawValue: "trap")
  /// A call did not return.
  public static let hang = Anomaly(rawValue: "hang")
  /// A promise that none of the other names fits.
  public static let broken = Anomaly(rawValue: "broken promise")

  /// The anomaly's stable name.
  public var description: String { rawValue }
}
