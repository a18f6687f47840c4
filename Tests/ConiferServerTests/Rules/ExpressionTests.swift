import ConiferTree
import Testing

@testable import ConiferServer

/// Tables of expressions. What the Realtime Database does with most of them was recorded by others
/// who ran them there.
@Suite struct ExpressionTests {
  private let somebody = Probe(
    token: VerifiedToken(
      uid: "custom:bob",
      variable: [
        "uid": "custom:bob", "text": "one", "int": 1, "yes": true, "foo": ["bar": true],
        "list": ["0": "x"],
      ]),
    before: ["a": ["b": 5], "foo": "bar", "empty": "", "more": ["bar": true, "n": ["x": 1]]])
  private let nobody = Probe()

  @Test(arguments: [
    // Literals, operators and their grouping.
    ("1 < 2", Verdict.yes), ("true", .yes), ("false", .no), ("null == null", .yes),
    ("'a' == \"a\"", .yes), ("'\\u0041\\x42\\'' == \"AB'\"", .yes), ("1e3 == 1000.0", .yes),
    (".5 + 5. == 5.5", .yes), ("!(true || false && false)", .no), ("false && false || true", .yes),
    ("false == 1 < 2", .no), ("true == 1 < 2", .yes), ("1 < 2 == 2 < 3", .yes),
    ("1 + 2 * 3 == 7", .yes), ("true || false ? false : true", .no),
    ("true ? false : true ? true : true", .no), ("true ? false : true || true", .no),
    ("!false && false", .no), ("-1 + 2 == 1", .yes), ("10 - 4 - 3 == 3", .yes),
    ("8 / 4 / 2 == 1", .yes), ("7 % 4 * 2 == 6", .yes), ("- -1 == 1", .yes), ("!!true", .yes),
    ("1 /* one */ == 1 // or not", .yes),
    // Types are never converted but by +.
    ("5 == '5'", .no), ("1 == true", .no), ("false == ''", .no), ("5 != '5'", .yes),
    ("5 === 5.0", .yes), ("5 !== '5'", .yes), ("null == false", .no), ("1 + 'a' == '1a'", .yes),
    ("'a' + 1.5 == 'a1.5'", .yes), ("1/0 + '' == 'NaN'", .yes), ("1/0 > 2", .no),
    ("1/0 == 1/0", .no), ("0.1 + 0.2 + '' == '0.30000000000000004'", .yes),
    ("1e21 + '' == '1e+21'", .yes), ("123456789012345680000 + '' == '123456789012345680000'", .yes),
    ("1e-7 + '' == '1e-7'", .yes), ("0.000001 + '' == '0.000001'", .yes),
    ("-1.5e-9 + '' == '-1.5e-9'", .yes), ("1 % 0 + '' == 'NaN'", .yes), ("-7 % 3 == -1", .yes),
    // Strings.
    ("'foo'.contains('o')", .yes), ("'foo'.contains('')", .yes), ("'foo'.contains('fof')", .no),
    ("'foo'.beginsWith('fo')", .yes), ("'foo'.endsWith('oo')", .yes), ("'oof'.endsWith('o')", .no),
    ("'a_b_c'.replace('_', '-') === 'a-b-c'", .yes), ("'/a/g'.replace('/a/g', 'z') == 'z'", .yes),
    ("'aaa'.replace('aa', 'b') == 'ba'", .yes), ("'abc'.replace('', 'x') == 'abc'", .yes),
    ("'ABC'.toLowerCase() == 'abc'", .yes), ("'straße'.toUpperCase() == 'STRASSE'", .yes),
    ("'ab'.length == 2", .yes), ("'😀'.length == 2", .yes), ("'a' < 'b'", .yes),
    ("'é' == 'e\\u0301'", .no), ("'\\uFFFF' > '😀'", .yes), ("'abc'.matches(/B/i)", .yes),
    ("'abc'['contains']('b')", .yes), ("'abc'.matches(/[/]|b/)", .yes),
    // Wildcards and the time.
    ("$first == 'a' && $second == 'b'", .yes), ("$first.length == 1", .yes), ("now == 1000", .yes),
  ])
  func `Literals, operators and strings`(_ text: String, _ verdict: Verdict) {
    #expect(nobody(text) == verdict)
  }

  @Test(arguments: [
    ("auth !== null", Verdict.no), ("auth.uid !== 'x'", .yes), ("auth.uid == null", .yes),
    ("auth.foo.baz == null", .yes), ("auth.contains('75')", .fails), ("auth.foo > 'foo'", .fails),
    ("auth.not.found.length > 0", .fails), ("!(auth.a.length > 1)", .fails),
    ("root.child(auth.text.toUpperCase()).val() === null", .fails), ("-auth.foo == -1", .fails),
    ("root.hasChildren([auth.uid])", .fails), ("root.child('u/' + auth.uid).exists()", .fails),
    ("root.child(auth.foo).exists() == false", .fails), ("root.hasChild(auth.foo)", .fails),
    ("'foo'.replace(auth.foo, 'bar') == 'foo'", .fails), ("'foo' == auth.foo", .no),
    ("root.parent().exists()", .fails), ("root['exists']() == false", .yes),
    ("root.hasChildren()", .no), ("root.hasChildren([])", .yes), ("root.isBoolean()", .no),
  ])
  func `What nobody is`(_ text: String, _ verdict: Verdict) {
    #expect(nobody(text) == verdict)
  }

  @Test(arguments: [
    ("auth.uid == 'custom:bob'", Verdict.yes), ("auth['uid'] == 'custom:bob'", .yes),
    ("auth.foo[$first + 'r'] == true", .no), ("auth.foo['b' + 'ar'] == true", .yes),
    ("auth.foo.bar == true", .yes), ("auth.list[0] == 'x'", .yes), ("auth.text.length == 3", .yes),
    ("auth.foo == null", .no), ("auth.foo == auth.foo", .yes), ("auth.foo == true", .no),
    ("auth.text['contains']('on')", .yes), ("auth.int < 5", .yes), ("auth.int + 1 == 2", .yes),
    ("auth.text + 1 == 2", .no), ("auth.text - 1 == 0", .fails), ("1 * auth.text == 1", .fails),
    ("1 + auth.yes == 2", .fails), ("1 + auth.none == 2", .fails), ("auth.none % 2 == 0", .fails),
    ("'one' == auth.int", .no), ("'one' != auth.int", .yes), ("'one' > auth.int", .fails),
    ("auth.int <= 'one'", .fails), ("1 >= auth.int", .yes), ("1 % auth.int == 0", .yes),
    ("'foo1'.contains(auth.int)", .fails), ("auth.isTernary === true ? false : true", .yes),
    ("auth.text.matches(/^o/)", .yes), ("auth.int.matches(/1/)", .fails),
    ("auth.list['length'] == null", .yes),
    ("(auth.yes == true ? auth.foo : auth).bar == true", .yes),
  ])
  func `What somebody's token says`(_ text: String, _ verdict: Verdict) {
    #expect(somebody(text) == verdict)
  }

  @Test func `auth is made of a token's uid, claims and provider`() {
    let probe = Probe(
      token: VerifiedToken(
        uid: "ada",
        claims: ["admin": true, "level": 5, "firebase": ["sign_in_provider": "custom"]]))
    #expect(probe("auth.uid == 'ada' && auth.token.admin === true") == .yes)
    #expect(probe("auth.token.level >= 3 && auth.provider == 'custom'") == .yes)
    #expect(probe("auth.token['firebase']['sign_in_provider'] == 'custom'") == .yes)
    #expect(probe("auth.admin == null && auth.token.none == null") == .yes)
  }

  @Test(arguments: [
    ("data.val() == 5 && newData.val() == 6", Verdict.yes), ("data.val() != null", .yes),
    ("newData.val() == data.val() + 1", .yes), ("data.parent().child('b').val() == 5", .yes),
    ("newData.parent().parent().child('a/b').val() == 6", .yes), ("data.isNumber()", .yes),
    ("data.isString() || data.isBoolean()", .no), ("data.hasChildren()", .no),
    ("newData.parent().hasChildren(['b', 'c'])", .no), ("data.parent().hasChild('b')", .yes),
    ("root.child('foo').val().length == 3", .yes), ("root.child('empty').val() == ''", .yes),
    ("root.child('/more//bar/').val() == true", .yes), ("root.child('./foo').exists()", .no),
    ("root.child('more/../foo').exists()", .no), ("root.child('x@y.z').val() != true", .yes),
    ("root.child('foo/below').exists()", .no),
    ("root.child('foo/x').parent().val() == 'bar'", .yes),
    ("root.child('more').val() == null", .no), ("root.child('more').val() == true", .no),
    ("root.child('more').val() == data.parent().parent().child('more').val()", .yes),
    ("root.child('more/n').val() != root.child('more').val()", .yes),
    ("data.getPriority() == null && newData.getPriority() == 7", .yes),
    ("newData.child('.priority').exists()", .no), ("data.val().length > 0", .fails),
    ("data.val().toUpperCase() == 'X' || true", .fails), ("true || data.val().length > 0", .yes),
    ("root.child('none').val().length == 0", .fails),
    ("root.child('none').val() < 1 || true", .fails),
    ("root.child('').val() == null", .no), ("(data.exists() ? data : newData).val() == 5", .yes),
  ])
  func `Places of data`(_ text: String, _ verdict: Verdict) {
    var probe = somebody
    probe.after = probe.before.setting("a/b" as Path, to: Node(6, priority: 7))
    #expect(probe(text) == verdict)
  }

  @Test(
    arguments: [
      ("7", "Expression must evaluate to a boolean."),
      ("'foo'", "Expression must evaluate to a boolean."),
      ("auth.uid", "Expression must evaluate to a boolean."), ("", "The expression is empty."),
      ("data.val()", "Expression must evaluate to a boolean."),
      ("auth.x === 'one' ? 7 : true", "Expression must evaluate to a boolean."),
      ("foo == 1", "Unknown variable 'foo'."), ("$nope == 'x'", "Unknown variable '$nope'."),
      ("var foo = 8", "Unknown variable 'var'."),
      ("undefined == 1", "Unknown variable 'undefined'."),
      ("auth.uid = 'x'", "Rule expressions may not contain assignments."),
      ("true; true", "Unexpected ';'."), ("true true", "Unexpected 'true'."),
      ("data.foo()", "No such method/property 'foo'."),
      ("data.foo == 1", "No such method/property 'foo'."),
      ("newData.val().bar()", "No such method/property 'bar'."),
      ("newData.val()['kind'] == 1", "No such method/property 'kind'."),
      ("data.contains('a')", "No such method/property 'contains'."),
      ("now.length == 1", "No such method/property 'length'."),
      ("root['no' + 'pe']() == true", "Invalid property access."),
      ("root[$first]() == true", "Invalid property access."),
      (
        "auth.text['none']('on') == false",
        "Type error: Function call on target that is not a function."
      ),
      ("newData.val().length() > 0", "Type error: Function call on target that is not a function."),
      ("auth.exists()", "Type error: Function call on target that is not a function."),
      ("auth.foo.none() == false", "Type error: Function call on target that is not a function."),
      ("data > 1", "Invalid > expression: left operand must be a number or string."),
      ("true > 1", "Invalid > expression: left operand must be a number or string."),
      ("data.val() <= true", "Invalid <= expression: right operand must be a number or string."),
      ("1 < 'a'", "Invalid < expression: the operands are of different types."),
      ("'a' - 1 > 0", "Invalid - expression: left operand is not a number."),
      ("1 * null == 0", "Invalid * expression: right operand is not a number."),
      ("true + 1 == 2", "Invalid + expression: left operand must be a number or string."),
      ("!'a'", "! only operates on booleans."), ("!data.val()", "! only operates on booleans."),
      ("-'a' == 1", "- only operates on numbers."),
      ("1 && true", "Left operand of && must be boolean."),
      ("true || auth.uid", "Right operand of || must be boolean."),
      ("data.child().exists()", "child() expects 1 argument."),
      ("data.child('a', 'b').exists()", "child() expects 1 argument."),
      ("'a'.replace('a') == ''", "replace() expects 2 arguments."),
      ("data.hasChild(1)", "hasChild() expects a string argument."),
      ("auth.foo.contains(7)", "contains() expects a string argument."),
      ("data.hasChildren('foo', 'bar')", "hasChildren() expects an array of strings."),
      ("data.hasChildren(['foo', 7])", "hasChildren() expects an array of strings."),
      ("data.val().matches('a')", "matches() expects a regular expression literal argument."),
      ("data.val().matches(/a/g)", "The only flag of a regular expression is i."),
      ("data.val().matches(/a)", "The regular expression has no end."),
      ("/a/ == 'a'", "A regular expression can only be the argument of matches()."),
      ("['a'] == 'a'", "An array can only be the argument of hasChildren()."),
      ("query.foo == 1", "No such method/property 'foo'."),
      (
        "query == null",
        "Invalid == expression: left operand must be a value; a snapshot has val() and exists()."
      ),
      (
        "root.child('foo') != null",
        "Invalid != expression: left operand must be a value; a snapshot has val() and exists()."
      ),
      ("data.exists == true", "exists is a method: call it."), ("2**2 == 4", "Unexpected '*'."),
      ("(true", "Expected ')' instead of end of the expression."),
      ("true ? false", "Expected ':' instead of end of the expression."),
      ("'a == 1", "The string has no end."), ("01 == 1", "This is not a number."),
      ("1x == 1", "This is not a number."),
      ("1e999 == 1", "The number is too large."), ("1e+ == 1", "The exponent has no digits."),
      ("'\\uD800' == ''", "Half of a surrogate pair."), ("true & false", "Unexpected '&'."),
      ("true /* x", "The comment has no end."),
    ] as [(String, String)])
  func `What no rule may say`(_ text: String, _ message: String) {
    #expect(nobody(text) == .refused(message))
  }

  @Test func `Only rules of writes know newData`() {
    #expect(
      Probe(kind: .read)("newData.exists()") == .refused("newData is invalid in .read expressions.")
    )
    #expect(Probe(kind: .write)("newData.exists()") == .no)
  }
}
