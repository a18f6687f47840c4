/// A change of a field that depends on the value it has on the server, such as an increment or a
/// server timestamp.
public struct FieldTransform: Sendable, Hashable {
  /// The operation of a field transform, such as an increment or an array union.
  public enum Operation: Sendable, Hashable {
    /// The time when the server applies the write.
    case serverTimestamp
    /// The sum; of integers within 64 bits, a double as soon as one is a double.
    case increment(Number)
    /// The smaller of both.
    case minimum(Number)
    /// The larger of both.
    case maximum(Number)
    /// The array and, at its end, those of these values that it lacks.
    case arrayUnion([DocumentValue])
    /// The array without any of these values.
    case arrayRemove([DocumentValue])
  }

  /// The field.
  public let field: FieldPath
  /// What happens to its value.
  public let operation: Operation

  /// A transform.
  public init(_ field: FieldPath, _ operation: Operation) {
    self.field = field
    self.operation = operation
  }
}

extension FieldTransform.Operation {
  /// The value that is shown until the server has answered.
  ///
  /// - Parameters:
  ///   - value: what the field has; none when there is no such field.
  ///   - written: when the write was made on this device.
  public func applied(to value: DocumentValue?, written: Timestamp) -> DocumentValue {
    switch self {
    case .serverTimestamp:
      // A placeholder that replaces another one keeps the earlier one's previous value.
      if case .serverTimestamp(_, let previous) = value {
        return .serverTimestamp(written: written, previous: previous)
      }
      return .serverTimestamp(written: written, previous: value)
    case .increment(let operand): return DocumentValue((value?.number ?? 0).adding(operand))
    case .minimum(let operand): return DocumentValue(value?.number?.minimum(operand) ?? operand)
    case .maximum(let operand): return DocumentValue(value?.number?.maximum(operand) ?? operand)
    case .arrayUnion(let elements): return .array((value?.array ?? []).union(elements))
    case .arrayRemove(let elements): return .array((value?.array ?? []).without(elements))
    }
  }

  /// The value once the server has answered.
  ///
  /// - Parameters:
  ///   - value: what the field has; none when there is no such field.
  ///   - result: the server's result. It has none for array operations, which are computed on this device.
  public func acknowledged(on value: DocumentValue?, result: DocumentValue) -> DocumentValue {
    switch self {
    case .arrayUnion, .arrayRemove: return applied(to: value, written: .zero)
    case .serverTimestamp, .increment, .minimum, .maximum: return result
    }
  }

  /// The value that the field must be set to before the transform is applied a second time; nil for
  /// transforms that may be applied twice.
  public func base(of value: DocumentValue?) -> DocumentValue? {
    guard case .increment = self else { return nil }
    return value?.number == nil ? .integer(0) : value
  }
}

extension Number {
  /// The sum: of integers it is limited to 64 bits, otherwise it is a double.
  func adding(_ other: Number) -> Number {
    guard case (.integer(let x), .integer(let y)) = (self, other) else {
      return .double(asDouble + other.asDouble)
    }
    let (sum, overflows) = x.addingReportingOverflow(y)
    return .integer(overflows ? (x < 0 ? .min : .max) : sum)
  }

  /// The smaller number: an integer when both are, this one when they are equal, NaN when one is.
  func minimum(_ other: Number) -> Number { chosen(other, when: Number.compare(other, self) < 0) }

  /// The larger number: an integer when both are, this one when they are equal, NaN when one is.
  func maximum(_ other: Number) -> Number { chosen(other, when: Number.compare(other, self) > 0) }

  private func chosen(_ other: Number, when isOther: Bool) -> Number {
    if case (.integer, .integer) = (self, other) { return isOther ? other : self }
    if asDouble.isNaN || other.asDouble.isNaN { return .double(.nan) }
    return .double(isOther ? other.asDouble : asDouble)
  }
}

extension [DocumentValue] {
  /// Up to this many values, comparing each one is faster than hashing the other array.
  private static var few: Int { 8 }

  /// These values, then those of the other array that are not among them, each once.
  fileprivate func union(_ others: [DocumentValue]) -> [DocumentValue] {
    var result = self
    guard others.count > Self.few else {
      for value in others where !result.contains(value) { result.append(value) }
      return result
    }
    var known = Set(self)
    for value in others where known.insert(value).inserted { result.append(value) }
    return result
  }

  /// These values without those that equal one of the others.
  fileprivate func without(_ others: [DocumentValue]) -> [DocumentValue] {
    guard others.count > Self.few else { return filter { !others.contains($0) } }
    let unwanted = Set(others)
    return filter { !unwanted.contains($0) }
  }
}

extension DocumentValue {
  /// The elements; none for other values.
  var array: [DocumentValue]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }
}
