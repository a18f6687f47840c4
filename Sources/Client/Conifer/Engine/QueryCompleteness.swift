import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Makes the edits that mark as incomplete the stored queries that no listen keeps up to date.
struct QueryCompleteness {
  let storage: EngineStorage
  /// The queries that a listen keeps up to date.
  let listened: Set<QueryID>

  /// Edits for filtered queries at and below a path where all data was replaced: their cached
  /// results are out of date.
  func outdated(below path: Path) -> [StorageEdit] {
    end { (view, tree) throws(StoreError) in
      let found = try view.trackedQueries(tree, at: path) + view.trackedQueries(tree, below: path)
      return found.filter { !$0.query.isDefault }
    }
  }

  /// Edits for filtered queries above a path where something changed: a child may have entered
  /// their results, or left them.
  func outdated(above path: Path) -> [StorageEdit] {
    end { (view, tree) throws(StoreError) in
      var found: [StoredQuery] = []
      for prefix in path.prefixes.dropLast() { found += try view.trackedQueries(tree, at: prefix) }
      return found.filter { !$0.query.isDefault }
    }
  }

  /// Edits for all queries that hold a place, or part of it, whose value is not known now.
  func unknown(around path: Path) -> [StorageEdit] {
    end { (view, tree) throws(StoreError) in
      var found = try view.trackedQueries(tree, below: path)
      for prefix in path.prefixes { found += try view.trackedQueries(tree, at: prefix) }
      return found
    }
  }

  private func end(
    _ find: (any StorageView, TreeID) throws(StoreError) -> [StoredQuery]
  ) -> [StorageEdit] {
    let found = storage.read { (view, lane) throws(StoreError) in try find(view, lane.tree) }
    return (found ?? []).compactMap { stored in
      var query = stored.query
      guard query.isComplete, !listened.contains(stored.id) else { return nil }
      query.isComplete = false
      return .saveQuery(query)
    }
  }
}
