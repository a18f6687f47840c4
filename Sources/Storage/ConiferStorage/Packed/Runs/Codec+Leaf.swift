import ConiferKeyValue
import ConiferTree

extension Codec {
  /// The leaf at a path, if its tree and its run are known as they are at a moment; nil too when the
  /// path leads to another node, or to a leaf that is stored elsewhere.
  func leaf(_ tree: TreeID, _ path: Path, at moment: Moment) -> Node? {
    guard let order = trees.order(tree, at: moment), path.last?.isPriority != true else {
      return nil
    }
    return leaf(tree, PathKey.encode(path, order), at: moment)
  }

  /// The leaf with a path key of a tree.
  func leaf(_ tree: TreeID, _ key: Bytes, at moment: Moment) -> Node? {
    guard let run = runs.nearest(tree, key, moment) else { return nil }
    return run.leaf(at: key).map { Node($0, priority: $1) }
  }
}
