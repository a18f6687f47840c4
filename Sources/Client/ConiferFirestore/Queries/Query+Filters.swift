import ConiferDocument

// Conditions that a document must all meet. An invalid one makes a query whose use reports the
// error.
extension Query {
  /// Documents that meet a condition.
  ///
  /// - Parameter filter: the condition.
  public final func whereFilter(_ filter: Filter) -> Query {
    derived { (query) throws(FirestoreError) in
      let condition = try filter.content.get()
      do throws(DocumentError) {
        return try query.filtered(condition)
      } catch {
        throw FirestoreError(error)
      }
    }
  }
}

extension Query {
  /// Documents whose field is equal to a value.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public final func whereField(
    _ field: String, isEqualTo value: Any
  ) -> Query { whereFilter(.whereField(field, isEqualTo: value)) }

  /// Documents whose field is equal to a value.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public final func whereField(
    _ path: FieldPath, isEqualTo value: Any
  ) -> Query { whereFilter(.whereField(path, isEqualTo: value)) }

  /// Documents that have the field, and something else than null and a value in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public final func whereField(
    _ field: String, isNotEqualTo value: Any
  ) -> Query { whereFilter(.whereField(field, isNotEqualTo: value)) }

  /// Documents that have the field, and something else than null and a value in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public final func whereField(
    _ path: FieldPath, isNotEqualTo value: Any
  ) -> Query { whereFilter(.whereField(path, isNotEqualTo: value)) }

  /// Documents whose field is less than a value of the same type.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public final func whereField(
    _ field: String, isLessThan value: Any
  ) -> Query { whereFilter(.whereField(field, isLessThan: value)) }

  /// Documents whose field is less than a value of the same type.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public final func whereField(
    _ path: FieldPath, isLessThan value: Any
  ) -> Query { whereFilter(.whereField(path, isLessThan: value)) }

  /// Documents whose field is less than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public final func whereField(
    _ field: String, isLessThanOrEqualTo value: Any
  ) -> Query { whereFilter(.whereField(field, isLessThanOrEqualTo: value)) }

  /// Documents whose field is less than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public final func whereField(
    _ path: FieldPath, isLessThanOrEqualTo value: Any
  ) -> Query { whereFilter(.whereField(path, isLessThanOrEqualTo: value)) }

  /// Documents whose field is greater than a value of the same type.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public final func whereField(
    _ field: String, isGreaterThan value: Any
  ) -> Query { whereFilter(.whereField(field, isGreaterThan: value)) }

  /// Documents whose field is greater than a value of the same type.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public final func whereField(
    _ path: FieldPath, isGreaterThan value: Any
  ) -> Query { whereFilter(.whereField(path, isGreaterThan: value)) }

  /// Documents whose field is greater than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public final func whereField(
    _ field: String, isGreaterThanOrEqualTo value: Any
  ) -> Query { whereFilter(.whereField(field, isGreaterThanOrEqualTo: value)) }

  /// Documents whose field is greater than a value of the same type, or equal.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public final func whereField(
    _ path: FieldPath, isGreaterThanOrEqualTo value: Any
  ) -> Query { whereFilter(.whereField(path, isGreaterThanOrEqualTo: value)) }

  /// Documents whose field is an array with a value in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - value: what to compare it with.
  public final func whereField(
    _ field: String, arrayContains value: Any
  ) -> Query { whereFilter(.whereField(field, arrayContains: value)) }

  /// Documents whose field is an array with a value in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - value: what to compare it with.
  public final func whereField(
    _ path: FieldPath, arrayContains value: Any
  ) -> Query { whereFilter(.whereField(path, arrayContains: value)) }

  /// Documents whose field is an array with one of some values in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - values: what to compare it with.
  public final func whereField(
    _ field: String, arrayContainsAny values: [Any]
  ) -> Query { whereFilter(.whereField(field, arrayContainsAny: values)) }

  /// Documents whose field is an array with one of some values in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - values: what to compare it with.
  public final func whereField(
    _ path: FieldPath, arrayContainsAny values: [Any]
  ) -> Query { whereFilter(.whereField(path, arrayContainsAny: values)) }

  /// Documents whose field is equal to one of some values.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - values: what to compare it with.
  public final func whereField(
    _ field: String, in values: [Any]
  ) -> Query { whereFilter(.whereField(field, in: values)) }

  /// Documents whose field is equal to one of some values.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - values: what to compare it with.
  public final func whereField(
    _ path: FieldPath, in values: [Any]
  ) -> Query { whereFilter(.whereField(path, in: values)) }

  /// Documents that have the field, and something else than null and some values in it.
  ///
  /// - Parameters:
  ///   - field: the field, such as `size` or `address.city`.
  ///   - values: what to compare it with.
  public final func whereField(
    _ field: String, notIn values: [Any]
  ) -> Query { whereFilter(.whereField(field, notIn: values)) }

  /// Documents that have the field, and something else than null and some values in it.
  ///
  /// - Parameters:
  ///   - path: the field, of names that may hold any character.
  ///   - values: what to compare it with.
  public final func whereField(
    _ path: FieldPath, notIn values: [Any]
  ) -> Query { whereFilter(.whereField(path, notIn: values)) }
}
