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
      spec.evaluate(try view.node(tree, Path(path))).map(\.key.string)
    }
  }

  /// Backends keep no indexes yet: queries by child read the whole node.
  package func makeIndex(of path: String, by child: String, _ node: Node) async throws -> Bool {
    false
  }
}
