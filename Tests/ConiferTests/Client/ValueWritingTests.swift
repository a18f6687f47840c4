import ConiferTree
import Foundation
import Testing

@testable import Conifer

@Suite struct `Values that an app reads` {
  let bench = ClientBench()

  func value(_ node: Node) -> Any? { DataSnapshot(bench.root.child("a"), node).value }

  @Test func `a whole number can be cast to any number that holds it`() {
    let whole = value(5)
    #expect(whole as? Int == 5)
    #expect(whole as? Double == 5)
    #expect(whole as? TimeInterval == 5)
    #expect(whole as? Int64 == 5)
    #expect(whole as? UInt == 5)
    #expect(whole as? Float == 5)
    #expect(whole as? NSNumber == NSNumber(value: 5))
    #expect(whole as? String == nil)
    #expect(value(Node(.integer(-5))) as? UInt == nil)
    #expect(value(Node(.integer(1_542_405_709_418_655_810))) as? Int == 1_542_405_709_418_655_810)
  }

  @Test func `a broken number can be cast to floating point alone`() {
    let broken = value(5.5)
    #expect(broken as? Double == 5.5)
    #expect(broken as? Int == nil)
    #expect(value(Node(.double(6))) as? Int == 6)
  }

  @Test func `texts and booleans are what they are`() {
    #expect(value("text") as? String == "text")
    #expect(value("text") as? NSString == "text")
    #expect(value("text") as? Int == nil)
    #expect(value(true) as? Bool == true)
    #expect(value(false) as? Bool == false)
    #expect(value(true) as? String == nil)
    #expect(value("5") as? Int == nil)
  }

  @Test func `maps can be cast as guides do`() {
    let node: Node = ["name": "ada", "age": 36, "ratio": 0.5, "stars": ["u1": true, "u2": true]]
    let read = value(node)
    let dictionary = read as? [String: Any]
    #expect(dictionary?.count == 4)
    #expect(dictionary?["name"] as? String == "ada")
    #expect(dictionary?["age"] as? Int == 36)
    #expect((read as? NSDictionary)?["name"] as? String == "ada")
    #expect((read as? NSDictionary)?["age"] as? Int == 36)
    let objects = read as? [String: AnyObject]
    #expect(objects?["stars"] as? [String: Bool] == ["u1": true, "u2": true])
    #expect(objects?["age"] as? Int == 36)
    #expect(objects?["name"] as? String == "ada")
    #expect(objects?["missing"] as? [String: Bool] ?? [:] == [:])
    #expect(value(["a": 1, "b": 2]) as? [String: Int] == ["a": 1, "b": 2])
    #expect(value(["a": 1, "b": 2]) as? [String: Double] == ["a": 1, "b": 2])
  }

  @Test func `what was read can be written again`() throws {
    let node: Node = [
      "text": "x", "whole": 5, "broken": 5.5, "yes": true, "zero": 0, "list": ["0": 1, "1": "b"],
    ]
    #expect(try ValueReader.node(value(node), at: "a") == node)
    let objects = try #require(value(node) as? [String: AnyObject])
    #expect(try ValueReader.node(objects, at: "a") == node)
    let dictionary = try #require(value(node) as? NSDictionary)
    #expect(try ValueReader.node(dictionary, at: "a") == node)
  }

  @Test func `numbered children come as an array when more than half of the places are taken`() {
    let array = value(["0": "a", "1": "b", "3": "d"]) as? [Any]
    #expect(array?.count == 4)
    #expect(array?[2] is NSNull)
    #expect(array?[3] as? String == "d")
    #expect(value(["1": "b", "9": "j"]) is [String: Any])
    #expect((value(["1": "b", "9": "j"]) as? [String: String])?["9"] == "j")
    #expect((value(["01": "b"]) as? [String: String])?["01"] == "b")
  }

  @Test func `nothing is nil`() {
    #expect(value(.empty) == nil)
    #expect(value(.empty) as? Int ?? 7 == 7)
  }

  @Test func `the export form keeps priorities and loses nothing`() throws {
    var node: Node = ["a": Node(1, priority: 2), "b": ["0": "x", "1": "y"]]
    node = node.settingPriority("p")
    let snapshot = DataSnapshot(bench.root.child("a"), node)
    let export = try #require(snapshot.valueInExportFormat() as? [String: Any])
    #expect(export[".priority"] as? String == "p")
    #expect((export["a"] as? [String: Any])?[".value"] as? Int == 1)
    #expect((export["a"] as? [String: Any])?[".priority"] as? Int == 2)
    #expect((export["b"] as? [String: String]) == ["0": "x", "1": "y"])
    #expect(try ValueReader.node(export, at: "a") == node)
    #expect((snapshot.value as? [String: Any])?[".priority"] == nil)
  }

  @Test func `the server's placeholders are read as they are written`() {
    let value = value(Node(.serverValue(.timestamp))) as? [String: String]
    #expect(value == [".sv": "timestamp"])
    let delta = self.value(Node(.serverValue(.increment(2)))) as? [String: [String: Int]]
    #expect(delta == [".sv": ["increment": 2]])
  }
}
