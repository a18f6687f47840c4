import ConiferQuery
import ConiferTree

// Each method returns a narrower query. A mistake (two orders, a bound of the wrong type, two
// limits) makes a query whose use reports the error.
extension DatabaseQuery {
  /// Orders by the values at a path below each child.
  public final func queryOrdered(byChild path: String) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in try spec.ordered(byChild: path) }
  }

  /// Orders by key.
  public final func queryOrderedByKey() -> DatabaseQuery {
    derived { (spec) throws(TreeError) in try spec.ordered(by: .key) }
  }

  /// Orders by the children's own values.
  public final func queryOrderedByValue() -> DatabaseQuery {
    derived { (spec) throws(TreeError) in try spec.ordered(by: .value) }
  }

  /// Orders by priority, which is also what holds without an order.
  public final func queryOrderedByPriority() -> DatabaseQuery {
    derived { (spec) throws(TreeError) in try spec.ordered(by: .priority) }
  }

  /// Keeps the first children.
  ///
  /// - Parameter limit: how many; 1 to 2^31 - 1.
  public final func queryLimited(toFirst limit: UInt) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in try spec.limited(toFirst: Int(clamping: limit)) }
  }

  /// Keeps the last children.
  ///
  /// - Parameter limit: how many; 1 to 2^31 - 1.
  public final func queryLimited(toLast limit: UInt) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in try spec.limited(toLast: Int(clamping: limit)) }
  }

  /// Starts at a value, which belongs to the range.
  ///
  /// - Parameters:
  ///   - startValue: a string, number or boolean, or nil; a key in a query by key.
  ///   - childKey: the first key among the children with that value; nil for all of them.
  public final func queryStarting(
    atValue startValue: Any?, childKey: String? = nil
  ) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in
      try spec.starting(at: ValueReader.bound(startValue), key: childKey.map { Key($0) })
    }
  }

  /// Starts after a value.
  ///
  /// - Parameters:
  ///   - startAfterValue: a string, number or boolean, or nil; a key in a query by key.
  ///   - childKey: the last key before the range among the children with that value; nil to leave
  ///     all of them out.
  public final func queryStarting(
    afterValue startAfterValue: Any?, childKey: String? = nil
  ) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in
      try spec.starting(after: ValueReader.bound(startAfterValue), key: childKey.map { Key($0) })
    }
  }

  /// Ends at a value, which belongs to the range.
  ///
  /// - Parameters:
  ///   - endValue: a string, number or boolean, or nil; a key in a query by key.
  ///   - childKey: the last key among the children with that value; nil for all of them.
  public final func queryEnding(atValue endValue: Any?, childKey: String? = nil) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in
      try spec.ending(at: ValueReader.bound(endValue), key: childKey.map { Key($0) })
    }
  }

  /// Ends before a value.
  ///
  /// - Parameters:
  ///   - endValue: a string, number or boolean, or nil; a key in a query by key.
  ///   - childKey: the first key after the range among the children with that value; nil to leave
  ///     all of them out.
  public final func queryEnding(
    beforeValue endValue: Any?, childKey: String? = nil
  ) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in
      try spec.ending(before: ValueReader.bound(endValue), key: childKey.map { Key($0) })
    }
  }

  /// Keeps the children with one value, or the one with that value and a key.
  ///
  /// - Parameters:
  ///   - value: a string, number or boolean, or nil; a key in a query by key.
  ///   - childKey: the only key; nil for all.
  public final func queryEqual(toValue value: Any?, childKey: String? = nil) -> DatabaseQuery {
    derived { (spec) throws(TreeError) in
      try spec.equal(to: ValueReader.bound(value), key: childKey.map { Key($0) })
    }
  }
}
