package import ConiferDocument

/// What a server made of writes that it took.
package struct CommitResult: Sendable, Hashable {
  /// When they were made.
  package let commitTime: Timestamp
  /// One result a write, in their order.
  package let results: [WriteResult]

  /// A result.
  package init(commitTime: Timestamp, results: [WriteResult]) {
    self.commitTime = commitTime
    self.results = results
  }
}

/// What a server made of one write.
package struct WriteResult: Sendable, Hashable {
  /// When it changed the document; nil of a deletion.
  package let updateTime: Timestamp?
  /// The results of the transforms, in order.
  package let transforms: [DocumentValue]

  /// A result.
  package init(updateTime: Timestamp?, transforms: [DocumentValue] = []) {
    self.updateTime = updateTime
    self.transforms = transforms
  }
}
