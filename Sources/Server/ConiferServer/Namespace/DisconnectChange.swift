import ConiferStorage
import ConiferTree

/// A change of a session's onDisconnect operations.
enum DisconnectChange: Sendable {
  /// These are written, in the place of what was to be written at and below them.
  case write([NodeChange], base: Path, isMerge: Bool)
  /// Nothing is written at a path and below it.
  case cancel(Path)

  private static let writing: UInt8 = 1
  private static let cancellation: UInt8 = 2

  /// A kind, then the request as the queue keeps a write.
  var bytes: [UInt8] {
    switch self {
    case .write(let changes, let base, let isMerge):
      [Self.writing]
        + WriteContent(kind: isMerge ? .update : .set, path: base, changes: changes).payload.bytes
    case .cancel(let path): [Self.cancellation] + WriteContent.set(path, .empty).payload.bytes
    }
  }

  /// The change that some bytes hold; nil when they are damaged, or of a later version.
  init?(_ bytes: [UInt8]) {
    guard let content = WriteContent(bytes: Array(bytes.dropFirst())) else { return nil }
    switch bytes.first {
    case Self.writing:
      self = .write(content.changes, base: content.path, isMerge: content.kind == .update)
    case Self.cancellation: self = .cancel(content.path)
    default: return nil
    }
  }

  /// Makes the change.
  func apply(to writes: inout DisconnectWrites) {
    switch self {
    case .write(let changes, let base, let isMerge):
      writes.remember(changes, base: base, isMerge: isMerge)
    case .cancel(let path): writes.forget(path)
    }
  }
}
