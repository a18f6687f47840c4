import ConiferKeyValue
import ConiferQuery
import ConiferStorage
package import ConiferTree

extension TreeEngine {
  package func last(
    _ count: Int, by child: String, of path: String, indexed: Bool
  ) throws -> [String] {
    let spec = try QuerySpec.default.ordered(byChild: child).limited(toLast: count)
    return try backend.read { (view) throws(StoreError) in
      try view.query(tree, Path(path), spec).children.map(\.key.string)
    }
  }

  package func makeIndex(of path: String, by child: String, _ node: Node) async throws -> Bool {
    guard !backend.traits.isEncrypted else { return false }
    let index = try IndexDefinition(Path(path), [.init(.child(Path(child)))])
    try await backend.commit([.setIndexes(tree, [index])])
    while true {
      let isReady = try backend.read { (view) throws(StoreError) in
        try view.indexes(tree).allSatisfy { $0.state == .ready }
      }
      if isReady { return true }
      _ = try await backend.tidy(.milliseconds(50))
    }
  }
}
