package import ConiferDocument

extension Mutation {
  /// The kind of the write, named like the app's method that makes it.
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
  /// The kind of the write in a batch of one, otherwise the number of writes.
  package var kindName: String {
    mutations.count == 1 ? mutations.map(\.kindName).joined() : "\(mutations.count) writes"
  }
}
