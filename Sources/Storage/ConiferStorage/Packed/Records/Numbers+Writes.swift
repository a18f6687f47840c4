import ConiferLeafStore

extension Numbers {
  /// The last number of a queued write.
  static let lastWrite = WriteID.last
}
