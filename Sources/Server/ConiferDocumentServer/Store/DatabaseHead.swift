import ConiferDocument

/// What a database's server knows beside the documents, as of its last commit.
struct DatabaseHead: Sendable, Hashable {
  /// A random number for this instance of the database: tokens of another instance are refused.
  let instance: UInt64
  /// When the last commit was made.
  var time: Timestamp
  /// The number of the next change.
  var next: Int64
  /// The moment after which all changes are in the history.
  var floor: Timestamp

  init(instance: UInt64, time: Timestamp, next: Int64, floor: Timestamp) {
    self.instance = instance
    self.time = time
    self.next = next
    self.floor = floor
  }

  /// The head that a document of the store holds; nil when it holds none.
  init?(_ document: Document) {
    guard let fields = document.fields, case .integer(let instance) = fields["instance"],
      case .timestamp(let time) = fields["time"], case .integer(let next) = fields["next"],
      case .timestamp(let floor) = fields["floor"]
    else { return nil }
    self.init(
      instance: UInt64(bitPattern: instance), time: time, next: next, floor: floor)
  }

  /// The head as a document of the store.
  func document(at path: DocumentPath) -> Document {
    Document(
      path,
      .found([
        "instance": .integer(Int64(bitPattern: instance)), "time": .timestamp(time),
        "next": .integer(next), "floor": .timestamp(floor),
      ]))
  }
}
