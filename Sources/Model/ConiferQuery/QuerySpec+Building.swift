public import ConiferTree

// The rules are those of the Realtime Database's clients.
extension QuerySpec {
  /// Sorts by an index.
  /// - Parameter index: The index; a child path must be one that an app may write.
  /// - Throws: `TreeError.invalidQuery` if an order was asked for before, if the child path is empty
  ///   or not valid, or if a bound set before does not suit the index.
  public func ordered(by index: QueryIndex) throws(TreeError) -> QuerySpec {
    if isOrdered { throw refused("the order is set twice; call ordered(by:) once") }
    if case .child(let path) = index {
      if path.isRoot { throw refused("the child path is empty; name a child, or order by value") }
      for key in path.keys {
        do throws(TreeError) {
          try key.validate()
        } catch {
          throw refused(
            "cannot order by the child \"\(index)\": \(error.message) For keys, priorities and "
              + "values there are orders of their own.")
        }
      }
    }
    var spec = self
    spec.index = index
    spec.isOrdered = true
    try spec.check(spec.start)
    try spec.check(spec.end)
    return spec
  }

  /// Sorts by the values at a path below each child.
  /// - Parameter path: The path, with slashes between its keys.
  /// - Throws: `TreeError.invalidQuery` as ``ordered(by:)``, and for names such as `$key`.
  public func ordered(byChild path: String) throws(TreeError) -> QuerySpec {
    try ordered(by: .child(Path(path)))
  }

  /// Starts at a value, which belongs to the range.
  /// - Parameters:
  ///   - value: A string, number or boolean, or nil for `null`; a key, as a string, in a query by
  ///     key; no boolean in a query by priority.
  ///   - key: The first key among the children with that value; never in a query by key.
  /// - Throws: `TreeError.invalidQuery` if a start was set before or the bound does not suit.
  public func starting(at value: Leaf?, key: Key? = nil) throws(TreeError) -> QuerySpec {
    try starting(Bound(value: value, key: key, inclusive: true))
  }

  /// Starts after a value, or after a key among the children with that value.
  /// - Parameters:
  ///   - value: As in ``starting(at:key:)``.
  ///   - key: The last key before the range; nil to leave out all children with that value.
  /// - Throws: `TreeError.invalidQuery` if a start was set before or the bound does not suit.
  public func starting(after value: Leaf?, key: Key? = nil) throws(TreeError) -> QuerySpec {
    try starting(Bound(value: value, key: key, inclusive: false))
  }

  /// Ends at a value, which belongs to the range.
  /// - Parameters:
  ///   - value: As in ``starting(at:key:)``.
  ///   - key: The last key among the children with that value; never in a query by key.
  /// - Throws: `TreeError.invalidQuery` if an end was set before or the bound does not suit.
  public func ending(at value: Leaf?, key: Key? = nil) throws(TreeError) -> QuerySpec {
    try ending(Bound(value: value, key: key, inclusive: true))
  }

  /// Ends before a value, or before a key among the children with that value.
  /// - Parameters:
  ///   - value: As in ``starting(at:key:)``.
  ///   - key: The first key after the range; nil to leave out all children with that value.
  /// - Throws: `TreeError.invalidQuery` if an end was set before or the bound does not suit.
  public func ending(before value: Leaf?, key: Key? = nil) throws(TreeError) -> QuerySpec {
    try ending(Bound(value: value, key: key, inclusive: false))
  }

  /// Keeps the children with one value, or the one with that value and a key.
  /// - Parameters:
  ///   - value: As in ``starting(at:key:)``.
  ///   - key: The only key; never in a query by key.
  /// - Throws: `TreeError.invalidQuery` if a start or an end was set before or the value does not
  ///   suit.
  public func equal(to value: Leaf?, key: Key? = nil) throws(TreeError) -> QuerySpec {
    try starting(at: value, key: key).ending(at: value, key: key)
  }

  /// Keeps the first children of the range.
  /// - Parameter count: How many, from 1 to 2^31 - 1.
  /// - Throws: `TreeError.invalidQuery` if a limit was set before or the count is out of range.
  public func limited(toFirst count: Int) throws(TreeError) -> QuerySpec {
    try limited(to: count, .first)
  }

  /// Keeps the last children of the range.
  /// - Parameter count: How many, from 1 to 2^31 - 1.
  /// - Throws: `TreeError.invalidQuery` if a limit was set before or the count is out of range.
  public func limited(toLast count: Int) throws(TreeError) -> QuerySpec {
    try limited(to: count, .last)
  }

  func starting(_ bound: Bound) throws(TreeError) -> QuerySpec {
    if start != nil {
      throw refused(
        "the start is set twice; call one of starting(at:), starting(after:), equal(to:)")
    }
    try check(bound)
    var spec = self
    spec.start = bound
    return spec
  }

  func ending(_ bound: Bound) throws(TreeError) -> QuerySpec {
    if end != nil {
      throw refused("the end is set twice; call one of ending(at:), ending(before:), equal(to:)")
    }
    try check(bound)
    var spec = self
    spec.end = bound
    return spec
  }

  func limited(to count: Int, _ side: Side) throws(TreeError) -> QuerySpec {
    if limit != nil { throw refused("the limit is set twice; call one of the limits once") }
    guard count >= 1, count <= Int(Int32.max) else {
      throw refused("the limit is \(count); give a number from 1 to \(Int32.max)")
    }
    var spec = self
    spec.limit = Limit(count: count, side: side)
    return spec
  }

  /// Checks that a bound suits the index.
  private func check(_ bound: Bound?) throws(TreeError) {
    guard let bound else { return }
    switch bound.value {
    case .serverValue?:
      throw refused("a bound is a server value; give a string, a number, a boolean or null")
    case .double(let value)? where !value.isFinite:
      throw refused("a bound is \(value); give a finite number")
    default: break
    }
    switch index {
    case .key:
      guard case .string? = bound.value else {
        throw refused("a query by key has a bound that is not a string; give a key as a string")
      }
      if bound.key != nil {
        throw refused(
          "a query by key has a bound with a child key; pass the key only as the bound's value")
      }
    case .priority:
      if case .bool? = bound.value {
        throw refused(
          "a query by priority has a boolean bound; give a string, a number or null, or set another "
            + "order first")
      }
    case .value, .child: break
    }
    guard let key = bound.key else { return }
    do throws(TreeError) {
      try key.validate()
    } catch {
      throw refused("a bound has an invalid child key: \(error.message)")
    }
  }

  func refused(_ message: String) -> TreeError {
    TreeError(.invalidQuery, "In a query, " + message)
  }
}
