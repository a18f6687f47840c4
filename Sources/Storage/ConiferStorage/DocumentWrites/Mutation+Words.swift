package import ConiferDocument

extension Mutation {
  /// What the write does, as the methods of an app that make it are called.
  package var kindName: String {
    switch change {
    case .set: "set"
    case .patch: precondition == .none ? "merge" : "update"
    case .delete: "delete"
    case .verify: "verify"
    }
  }
}

extension MutationBatch {
  /// What a batch of one write does, or how many writes it holds.
  package var kindName: String {
    mutations.count == 1 ? mutations.map(\.kindName).joined() : "\(mutations.count) writes"
  }
}
