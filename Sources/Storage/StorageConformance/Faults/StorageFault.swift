#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A way to make one file operation of a store fail.
enum StorageFault: String, Sendable, CaseIterable {
  /// A change of a file or of a name, or a sync, fails with EIO.
  case io = "EIO"
  /// Like EIO, but with ENOSPC.
  case full = "ENOSPC"
  /// A write writes half of its bytes and returns that number.
  case shortWrite = "a short write"
  /// Like EIO, but with EINTR.
  case interruption = "EINTR"
  /// A sync, or a write that is durable when it returns, fails with EIO.
  case sync = "a failed sync"
  /// An open or a read, or one of the changes, fails with EIO.
  case read = "a failed read"
  /// Every change after some operation fails with EIO, until the store is closed.
  case death = "a dying disk"

  /// The promise that is checked.
  var promise: String {
    switch self {
    case .io: "whichever operation fails with EIO, nothing acknowledged is lost"
    case .full: "whichever operation fails with ENOSPC, it is an ordinary error"
    case .shortWrite: "a short write does no harm, whichever write it is"
    case .interruption: "whichever operation fails with EINTR, it does no harm"
    case .sync: "after a failed sync no commit succeeds until reopening"
    case .read: "after a failed read nothing is taken for damage"
    case .death: "on a dying disk the store can be closed and reopened"
    }
  }

  var fault: IOSession.Fault {
    switch self {
    case .io, .sync, .read: .error(EIO)
    case .full: .error(ENOSPC)
    case .shortWrite: .shortWrite
    case .interruption: .error(EINTR)
    case .death: .errors(EIO)
    }
  }

  var counting: IOSession.Counting {
    switch self {
    case .sync: .syncs
    case .read: .changesAndReads
    default: .changes
    }
  }

  /// Whether an operation may be refused because the disk is full.
  var mayBeFull: Bool { self == .full || self == .shortWrite }
}
