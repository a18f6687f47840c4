public import ConiferQuery
public import ConiferTree

/// A query of the children at one path, with an order, a range and a limit.
///
/// A query may be used from any thread. An invalid query can be made too; calls that use it report
/// its ``error``.
public class DatabaseQuery: @unchecked Sendable {
  // Unchecked, as classes that are not final always are; all members are constant.
  /// The database that it belongs to.
  public final let database: Database
  /// The place, and what is asked of it.
  final let target: QueryTarget
  /// The database's engine.
  final let engine: any DatabaseEngine
  /// Why it is invalid; nil for a good one.
  public final let error: DatabaseError?

  init(_ database: Database, _ target: QueryTarget, error: DatabaseError? = nil) {
    self.database = database
    self.engine = database.engine
    self.target = target
    self.error = error
  }

  /// The place.
  public final var ref: DatabaseReference {
    (self as? DatabaseReference) ?? DatabaseReference(database, target.path, error: error)
  }

  /// The place as a path from the root.
  public final var path: Path { target.path }
  /// What is asked for; all children by priority for a reference.
  public final var spec: QuerySpec { target.spec }

  /// The query that a narrower spec makes.
  final func derived(_ build: (QuerySpec) throws(TreeError) -> QuerySpec) -> DatabaseQuery {
    if error != nil { return self }
    do throws(TreeError) {
      return DatabaseQuery(database, QueryTarget(target.path, try build(target.spec)))
    } catch {
      return DatabaseQuery(database, target, error: DatabaseError(error))
    }
  }
}

extension DatabaseQuery: Hashable, CustomStringConvertible {
  /// Whether both ask the same of the same place of the same database.
  public static func == (a: DatabaseQuery, b: DatabaseQuery) -> Bool {
    a.database === b.database && a.target == b.target && a.error == b.error
  }

  /// Feeds what `==` compares.
  public final func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(database))
    hasher.combine(target)
  }

  /// The place's URL, and the query's identifier.
  public final var description: String {
    let url = database.url(of: target.path)
    return target.spec.isDefault ? url : "\(url) \(target.spec.identifier)"
  }
}
