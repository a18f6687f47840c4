import ConiferDocument

/// An instruction that a write holds in place of a value: the field is deleted, or the server
/// computes it.
public struct FieldValue: Sendable {
  enum Content: Sendable {
    case write(WriteValue)
    /// It holds a value that no field takes; the write tells it.
    case fault(FirestoreError)
  }

  let content: Content
  /// What it is called, for messages.
  let name: String

  private init(_ name: String, _ write: WriteValue) {
    content = .write(write)
    self.name = "FieldValue.\(name)()"
  }

  /// The instruction that a waiting write holds.
  init(_ operation: FieldTransform.Operation) {
    let name =
      switch operation {
      case .serverTimestamp: "serverTimestamp"
      case .increment: "increment"
      case .minimum: "minimum"
      case .maximum: "maximum"
      case .arrayUnion: "arrayUnion"
      case .arrayRemove: "arrayRemove"
      }
    self.init(name, .transform(operation))
  }

  private init(
    _ name: String, _ elements: [Any], _ make: ([DocumentValue]) -> WriteValue
  ) {
    self.name = "FieldValue.\(name)()"
    do throws(FirestoreError) {
      content = .write(make(try DataReader.elements(elements, of: self.name)))
    } catch {
      content = .fault(error)
    }
  }

  /// The field is deleted; for updates and merges.
  public static func delete() -> FieldValue { FieldValue("delete", .delete) }

  /// The time when the server applies the write.
  public static func serverTimestamp() -> FieldValue {
    FieldValue("serverTimestamp", .serverTimestamp)
  }

  /// The field's array with these values, each once.
  ///
  /// - Parameter elements: values without instructions and arrays.
  public static func arrayUnion(_ elements: [Any]) -> FieldValue {
    FieldValue("arrayUnion", elements) { .arrayUnion($0) }
  }

  /// The field's array without these values.
  ///
  /// - Parameter elements: values without instructions and arrays.
  public static func arrayRemove(_ elements: [Any]) -> FieldValue {
    FieldValue("arrayRemove", elements) { .arrayRemove($0) }
  }

  /// The sum of the field and a number; of what is no number, the number alone.
  public static func increment(_ number: Int64) -> FieldValue {
    FieldValue("increment", .increment(.integer(number)))
  }

  /// The sum of the field and a number; of what is no number, the number alone.
  public static func increment(_ number: Int) -> FieldValue { increment(Int64(number)) }

  /// The sum of the field and a number, a double.
  public static func increment(_ number: Double) -> FieldValue {
    FieldValue("increment", .increment(.double(number)))
  }

  /// The smaller one of the field and a number; of what is no number, the number.
  public static func minimum(_ number: Int64) -> FieldValue {
    FieldValue("minimum", .minimum(.integer(number)))
  }

  /// The smaller one of the field and a number; of what is no number, the number.
  public static func minimum(_ number: Int) -> FieldValue { minimum(Int64(number)) }

  /// The smaller one of the field and a number; of what is no number, the number.
  public static func minimum(_ number: Double) -> FieldValue {
    FieldValue("minimum", .minimum(.double(number)))
  }

  /// The larger one of the field and a number; of what is no number, the number.
  public static func maximum(_ number: Int64) -> FieldValue {
    FieldValue("maximum", .maximum(.integer(number)))
  }

  /// The larger one of the field and a number; of what is no number, the number.
  public static func maximum(_ number: Int) -> FieldValue { maximum(Int64(number)) }

  /// The larger one of the field and a number; of what is no number, the number.
  public static func maximum(_ number: Double) -> FieldValue {
    FieldValue("maximum", .maximum(.double(number)))
  }

  /// A vector, which is a value and no instruction.
  public static func vector(_ array: [Double]) -> VectorValue { VectorValue(array) }

  /// A vector of other numbers, such as `Float`s; fields hold them as doubles.
  public static func vector<Number: BinaryFloatingPoint>(_ array: [Number]) -> VectorValue {
    VectorValue(array.map { Double($0) })
  }
}

extension FieldValue: Hashable {
  /// Whether both are the same instruction with the same values.
  public static func == (a: FieldValue, b: FieldValue) -> Bool {
    switch (a.content, b.content) {
    case (.write(.delete), .write(.delete)): true
    case (.write(.transform(let x)), .write(.transform(let y))): x == y
    case (.fault(let x), .fault(let y)): a.name == b.name && x.message == y.message
    default: false
    }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    if case .write(.transform(let operation)) = content { hasher.combine(operation) }
  }
}
