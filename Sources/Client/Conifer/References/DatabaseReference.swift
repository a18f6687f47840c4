import ConiferQuery
import ConiferTree
import Foundation

/// A reference to one path of a database, to read, write and observe it.
///
/// It may be used from any thread, and costs next to nothing. Its calls that bear the Apple SDK's
/// names return at once, never throw and never trap: what is wrong is told to the completion block
/// and the receipt.
public final class DatabaseReference: DatabaseQuery, @unchecked Sendable {
  // Unchecked, as its superclass is; it has no members of its own.

  /// A completion block as the Apple SDK has it, called with the error, if there was one, and the
  /// reference.
  public typealias CompletionBlock = ((any Error)?, DatabaseReference) -> Void

  init(_ database: Database, _ path: Path, error: DatabaseError? = nil) {
    super.init(database, QueryTarget(path), error: error)
  }

  /// The place's own key; nil for the root.
  public var key: String? { target.path.last?.string }

  /// The place's URL, percent-encoded.
  public var url: String { database.url(of: target.path) }

  /// The place above; nil for the root.
  public var parent: DatabaseReference? {
    target.path.parent.map { DatabaseReference(database, $0, error: error) }
  }

  /// The top of the tree.
  public var root: DatabaseReference { DatabaseReference(database, .root) }

  /// A place below.
  ///
  /// - Parameter pathString: keys separated by slashes; slashes around it do not count.
  public func child(_ pathString: String) -> DatabaseReference {
    if error != nil { return self }
    let path = target.path.appending(Path(pathString))
    return DatabaseReference(database, path, error: WriteRules.fault(path))
  }

  /// A place below with a new key, which sorts after those made earlier.
  ///
  /// Keys are 20 characters: the server's time as far as it is known, and 72 random bits.
  public func childByAutoId() -> DatabaseReference {
    if error != nil { return self }
    let path = target.path.appending(database.pushKey())
    return DatabaseReference(database, path, error: WriteRules.fault(path))
  }
}
