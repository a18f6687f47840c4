import ConiferTree
import Foundation
import Testing

@testable import Conifer

@Suite struct `Values that an app writes` {
  func node(_ value: Any?) throws(TreeError) -> Node { try ValueReader.node(value, at: "a") }

  @Test func `native scalars become leaves of their own type`() throws {
    #expect(try node("text").leaf.map { "\($0)" } == "string(\"text\")")
    #expect(try node(5).leaf.map { "\($0)" } == "integer(5)")
    #expect(try node(5.5).leaf.map { "\($0)" } == "double(5.5)")
    #expect(try node(true).leaf.map { "\($0)" } == "bool(true)")
    #expect(try node(1).leaf.map { "\($0)" } == "integer(1)")
    #expect(try node("abc".dropFirst()).leaf == "bc")
  }

  @Test func `every kind of integer and floating point is taken`() throws {
    let integers: [Any] = [
      Int8(-7), Int16(-7), Int32(-7), Int64(-7), NSNumber(value: -7), NSNumber(value: Int64(-7)),
    ]
    for value in integers { #expect(try node(value).leaf.map { "\($0)" } == "integer(-7)") }
    let unsigned: [Any] = [UInt8(7), UInt16(7), UInt32(7), UInt64(7), UInt(7)]
    for value in unsigned { #expect(try node(value).leaf.map { "\($0)" } == "integer(7)") }
    #expect(try node(Float(0.5)).leaf.map { "\($0)" } == "double(0.5)")
    #expect(try node(NSNumber(value: 0.5)).leaf.map { "\($0)" } == "double(0.5)")
    #expect(try node(Int64.max).leaf.map { "\($0)" } == "integer(\(Int64.max))")
    #expect(try node(Int64.min).leaf.map { "\($0)" } == "integer(\(Int64.min))")
    #expect(try node(UInt64.max).leaf == .double(18_446_744_073_709_551_616))
  }

  @Test func `values of the tree's own types are taken as they are`() throws {
    let tree: Node = ["name": "Attic", "at": Node(.serverValue(.timestamp))]
    #expect(try node(tree) == tree)
    #expect(try node(["room": tree, "old": Node.empty]) == ["room": tree])
    #expect(try node(Leaf.integer(7)) == 7)
    #expect(try node(Node(7, priority: 3)) == Node(7, priority: 3))
    let increment = ConiferTree.ServerValue.increment(.integer(2))
    #expect(try node(increment) == Node(.serverValue(increment)))
    #expect(throws: TreeError.self) { try node(Node(children: [(Key("a.b"), Node(.integer(1)))])) }
  }

  @Test func `numbers of Foundation tell booleans from zero and one`() throws {
    #expect(try node(NSNumber(value: true)).leaf.map { "\($0)" } == "bool(true)")
    #expect(try node(NSNumber(value: false)).leaf.map { "\($0)" } == "bool(false)")
    #expect(try node(NSNumber(value: 1)).leaf.map { "\($0)" } == "integer(1)")
    #expect(try node(NSNumber(value: 0)).leaf.map { "\($0)" } == "integer(0)")
    #expect(try node(NSNumber(value: 1.0)).leaf?.number == 1)
  }

  @Test func `nothing, null and what is empty delete`() throws {
    #expect(try node(nil).isEmpty)
    #expect(try node(NSNull()).isEmpty)
    #expect(try node([String: Any]()).isEmpty)
    #expect(try node([Any]()).isEmpty)
    #expect(try node(["a": NSNull(), "b": [String: Any]()] as [String: Any]).isEmpty)
    #expect(try node(["a": nil, "b": 1] as [String: Int?]) == ["b": 1])
    let hidden: Any = Int?.none as Any
    #expect(try node(hidden).isEmpty)
    #expect(try node(Int?.some(4) as Any).leaf == 4)
  }

  @Test func `dictionaries and arrays of either language become children`() throws {
    let expected: Node = ["a": 1, "b": ["0": "x", "2": true]]
    #expect(try node(["a": 1, "b": ["x", NSNull(), true] as [Any]] as [String: Any]) == expected)
    let dictionary = NSMutableDictionary()
    dictionary["a"] = NSNumber(value: 1)
    dictionary["b"] = NSArray(array: [NSString(string: "x"), NSNull(), NSNumber(value: true)])
    #expect(try node(dictionary) == expected)
    #expect(
      try node(["a": 1 as AnyObject, "b": ["x", nil, true] as [Any?]] as [String: Any]) == expected)
    #expect(try node(["a": ["b": 1]] as [AnyHashable: Any]) == ["a": ["b": 1]])
  }

  @Test func `values, priorities and server values are read as the tree's own`() throws {
    let leaf = try node([".value": 99, ".priority": "abc"] as [String: Any])
    #expect(leaf == Node(99, priority: "abc"))
    let inner = try node([".priority": 3, "a": 1] as [String: Any])
    #expect(inner.priority == 3)
    #expect(inner[Key("a")] == 1)
    #expect(try node(Conifer.ServerValue.timestamp()).leaf == .serverValue(.timestamp))
    #expect(try node(Conifer.ServerValue.increment(2)).leaf == .serverValue(.increment(2)))
    #expect(try node(Conifer.ServerValue.increment(0.5)).leaf == .serverValue(.increment(0.5)))
    #expect(
      try node(Conifer.ServerValue.increment(NSNumber(value: 3))).leaf
        == .serverValue(.increment(3)))
    let stamped = try node(["at": Conifer.ServerValue.timestamp()])
    #expect(stamped[Key("at")].leaf == .serverValue(.timestamp))
  }

  @Test func `a priority in the value counts more than the argument`() throws {
    let inBand = try ValueReader.node(
      [".value": 1, ".priority": 5] as [String: Any], priority: 7, at: "a")
    #expect(inBand.priority == 5)
    #expect(try ValueReader.node(1, priority: 7, at: "a").priority == 7)
    #expect(try ValueReader.node(1, priority: nil, at: "a").priority == nil)
    #expect(try ValueReader.node(nil, priority: 7, at: "a").isEmpty)
  }

  static let refused: [(String, any Sendable, TreeError.Code)] = [
    ("a date", Date(), .invalidValue),
    ("a set", Set([1]), .invalidValue),
    ("data", Data([1]), .invalidValue),
    ("not a number", Double.nan, .invalidValue),
    ("infinity", Double.infinity, .invalidValue),
    ("a key with a dot", ["a.b": 1], .invalidKey),
    ("an empty key", ["": 1], .invalidKey),
    ("a key with a slash", ["a/b": 1], .invalidKey),
    ("a key that is no string", [1: "a"], .invalidKey),
    ("a malformed server value", [".sv": "timestamp", "a": "b"], .invalidServerValue),
    ("an increment by text", [".sv": ["increment": "1"]], .invalidServerValue),
    ("a boolean priority", [".priority": true, ".value": true], .invalidPriority),
    ("a value with children", [".value": 1, "a": 2], .invalidValue),
    ("a key of 769 bytes", [String(repeating: "k", count: 769): 1], .invalidKey),
  ]

  @Test(arguments: refused)
  func `what is no data is refused`(
    name: String, value: any Sendable, code: TreeError.Code
  ) {
    let error = #expect(throws: TreeError.self) { try node(value) }
    #expect(error?.code == code, "\(name)")
    #expect(error?.message.isEmpty == false)
  }

  @Test func `nesting without end is refused rather than followed`() {
    var deep: Any = 1
    for _ in 0..<100_000 { deep = [deep] }
    // Taken apart again below, as freeing so deep a value would be the only thing to overflow.
    let error = #expect(throws: TreeError.self) { try node(deep) }
    #expect(error?.code == .pathTooDeep)
    while let array = deep as? [Any], let inner = array.first { deep = inner }
  }

  @Test func `a string above the limit is refused`() {
    let long = String(repeating: "x", count: Leaf.longest + 1)
    let error = #expect(throws: TreeError.self) { try node(long) }
    #expect(error?.code == .leafTooLarge)
  }
}
