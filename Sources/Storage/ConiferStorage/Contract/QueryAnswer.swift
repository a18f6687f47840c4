import ConiferKeyValue
public import ConiferTree

/// The children that a query gives, with an explanation of how they were found.
public struct QueryAnswer: Sendable {
  /// The children in the query's order, within its range and limit.
  public var children: [Node.Child]
  /// The explanation of how they were found.
  public var explanation: QueryExplanation

  /// The children that a query gives.
  public init(children: [Node.Child], explanation: QueryExplanation) {
    self.children = children
    self.explanation = explanation
  }

  /// The index that is worth naming: the explanation's hint, by the rule of ``DocumentAnswer/worthwhileIndex``.
  package var worthwhileIndex: IndexDefinition? {
    let read = explanation.childrenRead
    return read >= 100 && read * 10 > children.count * 34 ? explanation.hint : nil
  }
}

/// An explanation of how a query was answered, and what that cost.
public struct QueryExplanation: Hashable, Sendable {
  /// The way in which a query found its children, such as by key order or by an index.
  public enum Plan: Hashable, Sendable {
    /// The whole node was read and sorted.
    case node
    /// The order of keys is the order of the query: only the range was read.
    case keys
    /// The entries of an index were walked, and the children they name read.
    case index(IndexDefinition)
  }

  /// The way in which the query found its children.
  public var plan: Plan
  /// How many runs of leaves were read, each counted once.
  public var runsRead = 0
  /// Bytes of their bodies before compression.
  public var bytesDecoded = 0
  /// How many entries of the index were read.
  public var indexEntries = 0
  /// How many children the query gives.
  public var children = 0
  /// How many children the whole node had, when all of it was read.
  package var childrenRead = 0
  /// The index that would have spared reading the whole node, for the caller to log; nil when none
  /// would, or one is there.
  public var hint: IndexDefinition?
  /// The index that will serve the query once it is built.
  public var building: IndexDefinition?

  /// An explanation without costs.
  public init(_ plan: Plan) { self.plan = plan }
}

extension QueryExplanation: CustomStringConvertible {
  /// The plan, the costs and the hint in one line.
  public var description: String {
    let plan =
      switch plan {
      case .node: "whole node"
      case .keys: "order of keys"
      case .index(let definition): "index \(definition)"
      }
    var text =
      "\(plan): \(children) children, \(indexEntries) index entries, \(runsRead) runs, "
      + "\(bytesDecoded) bytes decoded"
    if let building { text += "; the index \(building) is being built" }
    if let hint { text += "; add \(hint.rule)" }
    return text
  }
}
