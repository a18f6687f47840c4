internal import ConiferStorage
internal import ConiferTree

extension TreeProgram: CustomStringConvertible {
  /// The program, one step a line and one change a line below it.
  var description: String {
    steps.enumerated().map { line, step in
      switch step {
      case .commit(let changes): "  \(line). commit" + list(changes)
      case .refused(let changes): "  \(line). refused" + list(changes)
      case .beside(let changes, let refused):
        "  \(line). commit" + list(changes) + "\n     beside refused ones" + list(refused)
      default: "  \(line). \(step)"
      }
    }.joined(separator: "\n")
  }

  private func list(_ changes: [Change]) -> String {
    changes.map { "\n     \($0)" }.joined()
  }
}

extension TreeProgram.Change: CustomStringConvertible {
  /// The change with its nodes shortened.
  var description: String {
    switch self {
    case .overwrite(let tree, let path, let node): "overwrite(\(tree), \(path), \(node.summary))"
    case .merge(let tree, let path, let changes): "merge(\(tree), \(path), \(list(changes)))"
    case .prune(let tree, let markers):
      "prune(\(tree), "
        + markers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        .joined(separator: ", ") + ")"
    case .saveQuery(let tree, let path, let parameters, let isComplete, let lastUse):
      "saveQuery(\(tree), \(path), \(parameters), \(isComplete), \(lastUse))"
    case .removeQuery(let tree, let pick): "removeQuery(\(tree), \(pick))"
    case .setKeys(let tree, let pick, let keys): "setKeys(\(tree), \(pick), \(keys))"
    case .updateKeys(let tree, let pick, let added, let removed):
      "updateKeys(\(tree), \(pick), added \(added), removed \(removed))"
    case .pin(let tree, let path): "pin(\(tree), \(path))"
    case .unpin(let tree, let pick): "unpin(\(tree), \(pick))"
    case .metadata(let tree, let name, let bytes):
      "metadata(\(tree), \(name), \(bytes.map { "\($0)" } ?? "nil"))"
    case .enqueue(let tree, let identity, let content):
      "enqueue(\(tree), \"\(identity)\", \(text(content)))"
    case .restore(let tree, let identity, let ahead, let content):
      "restore(\(tree), \"\(identity)\", \(ahead), \(text(content)))"
    case .replace(let tree, let identity, let pick, let content):
      "replace(\(tree), \"\(identity)\", \(pick), \(text(content)))"
    case .advance(let tree, let identity, let pick): "advance(\(tree), \"\(identity)\", \(pick))"
    case .finish(let tree, let identity, let pick, let choice):
      "finish(\(tree), \"\(identity)\", \(pick), \(choice))"
    case .purge(let tree, let identity): "purge(\(tree), \"\(identity)\")"
    case .documents(let change): "documents.\(change)"
    }
  }

  private func list(_ changes: [WriteContent.Change]) -> String {
    changes.map { "\($0.path): \($0.node.summary)" }.joined(separator: ", ")
  }

  private func text(_ content: WriteContent) -> String {
    "\(content.kind) at \(content.path) [\(list(content.changes))] time \(content.time)"
  }
}
