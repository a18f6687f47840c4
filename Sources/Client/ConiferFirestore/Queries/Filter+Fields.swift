import ConiferDocument

// One condition on one field; fields are named by a text or by a path.
extension Filter {
  /// Documents whose field is equal to a value.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, isEqualTo value: Any
  ) -> Filter { Filter(field, .equal, value) }

  /// Documents whose field is equal to a value.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, isEqualTo value: Any
  ) -> Filter { Filter(path, .equal, value) }

  /// Documents that have the field, and something else than null and a value in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, isNotEqualTo value: Any
  ) -> Filter { Filter(field, .notEqual, value) }

  /// Documents that have the field, and something else than null and a value in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, isNotEqualTo value: Any
  ) -> Filter { Filter(path, .notEqual, value) }

  /// Documents whose field is less than a value of the same type.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, isLessThan value: Any
  ) -> Filter { Filter(field, .lessThan, value) }

  /// Documents whose field is less than a value of the same type.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, isLessThan value: Any
  ) -> Filter { Filter(path, .lessThan, value) }

  /// Documents whose field is less than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, isLessThanOrEqualTo value: Any
  ) -> Filter { Filter(field, .lessThanOrEqual, value) }

  /// Documents whose field is less than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, isLessThanOrEqualTo value: Any
  ) -> Filter { Filter(path, .lessThanOrEqual, value) }

  /// Documents whose field is greater than a value of the same type.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, isGreaterThan value: Any
  ) -> Filter { Filter(field, .greaterThan, value) }

  /// Documents whose field is greater than a value of the same type.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, isGreaterThan value: Any
  ) -> Filter { Filter(path, .greaterThan, value) }

  /// Documents whose field is greater than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, isGreaterThanOrEqualTo value: Any
  ) -> Filter { Filter(field, .greaterThanOrEqual, value) }

  /// Documents whose field is greater than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, isGreaterThanOrEqualTo value: Any
  ) -> Filter { Filter(path, .greaterThanOrEqual, value) }

  /// Documents whose field is greater than a value of the same type, or equal; the Apple SDK's name of
  /// `isGreaterThanOrEqualTo`, which is what queries have.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, isGreaterOrEqualTo value: Any
  ) -> Filter { Filter(field, .greaterThanOrEqual, value) }

  /// Documents whose field is greater than a value of the same type, or equal; the Apple SDK's name of
  /// `isGreaterThanOrEqualTo`, which is what queries have.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, isGreaterOrEqualTo value: Any
  ) -> Filter { Filter(path, .greaterThanOrEqual, value) }

  /// Documents whose field is an array with a value in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public static func whereField(
    _ field: String, arrayContains value: Any
  ) -> Filter { Filter(field, .arrayContains, value) }

  /// Documents whose field is an array with a value in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public static func whereField(
    _ path: FieldPath, arrayContains value: Any
  ) -> Filter { Filter(path, .arrayContains, value) }

  /// Documents whose field is an array with one of some values in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - values: what to compare it with.
  public static func whereField(
    _ field: String, arrayContainsAny values: [Any]
  ) -> Filter { Filter(field, .arrayContainsAny, values) }

  /// Documents whose field is an array with one of some values in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - values: what to compare it with.
  public static func whereField(
    _ path: FieldPath, arrayContainsAny values: [Any]
  ) -> Filter { Filter(path, .arrayContainsAny, values) }

  /// Documents whose field is equal to one of some values.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - values: what to compare it with.
  public static func whereField(
    _ field: String, in values: [Any]
  ) -> Filter { Filter(field, .in, values) }

  /// Documents whose field is equal to one of some values.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - values: what to compare it with.
  public static func whereField(
    _ path: FieldPath, in values: [Any]
  ) -> Filter { Filter(path, .in, values) }

  /// Documents that have the field, and something else than null and some values in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - values: what to compare it with.
  public static func whereField(
    _ field: String, notIn values: [Any]
  ) -> Filter { Filter(field, .notIn, values) }

  /// Documents that have the field, and something else than null and some values in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - values: what to compare it with.
  public static func whereField(
    _ path: FieldPath, notIn values: [Any]
  ) -> Filter { Filter(path, .notIn, values) }
}
