/* Vectors, and who makes them: OpenAI's embeddings, and the scripted provider's. */
#include <check.h>
#include <string.h>

#include "chat.h"
#include "literal.h"

/* Interfaces under test */
#include "../../worker-model/openai_embeddings.h"
#include "../../worker-model/scripted_embeddings.h"
#include "bounds.h"
#include "vector.h"

TCase *tcase_embeddings(void);

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
vector(const char *numbers)
{
	const struct value *made = vector_new(arena, literal(arena, numbers));

	ck_assert_msg(vector_is(made), "%s", numbers);
	return made;
}

/* --- vectors -------------------------------------------------------------------------- */

START_TEST(a_vector_is_its_numbers_in_a_fixed_form)
{
	const struct value *made = vector("[1, -2.5]");

	ck_assert_uint_eq(made->size, 8);
	ck_assert_mem_eq(made->text, "\x00\x00\x80\x3f\x00\x00\x20\xc0", 8);
}
END_TEST

static const char *const no_vectors[] = { "[]", "{}", "'x'", "[1, 'x']", "[1e39]",
	"[null]", "[[1]]" };

START_TEST(only_finite_numbers_are_a_vector)
{
	const struct value *numbers = value_empty_array();
	size_t i;

	for (i = 0; i < sizeof no_vectors / sizeof no_vectors[0]; i++)
		ck_assert_msg(vector_new(arena, literal(arena, no_vectors[i])) == NULL,
		    "%s", no_vectors[i]);
	ck_assert(!vector_is(value_bin(arena, "abc", 3)));
	ck_assert(!vector_is(value_bin(arena, "", 0)));
	ck_assert(!vector_is(value_str(arena, "abcd")));
	ck_assert(!vector_is(NULL));
	for (i = 0; i < VECTOR_NUMBERS_MAX; i++)
		numbers = value_array_add(arena, numbers, value_int(arena, 1));
	ck_assert(vector_is(vector_new(arena, numbers)));
	ck_assert_ptr_null(
	    vector_new(arena, value_array_add(arena, numbers, value_int(arena, 1))));
}
END_TEST

START_TEST(likeness_is_the_cosine)
{
	ck_assert_double_eq_tol(
	    vector_likeness(vector("[3, 4]"), vector("[6, 8]")), 1, 1e-6);
	ck_assert_double_eq_tol(
	    vector_likeness(vector("[3, 4]"), vector("[-3, -4]")), -1, 1e-6);
	ck_assert_double_eq_tol(
	    vector_likeness(vector("[1, 0]"), vector("[0, 2]")), 0, 1e-6);
	ck_assert_double_eq_tol(
	    vector_likeness(vector("[1, 0]"), vector("[1, 1]")), 0.70710678, 1e-6);
	/* What has no direction, another model's size, more than a double holds. */
	ck_assert_double_eq(vector_likeness(vector("[0, 0]"), vector("[1, 1]")), 0);
	ck_assert_double_eq(vector_likeness(vector("[1]"), vector("[1, 1]")), 0);
	ck_assert_double_eq_tol(
	    vector_likeness(vector("[3e38, 0]"), vector("[3e38, 0]")), 1, 1e-6);
}
END_TEST

/* --- OpenAI --------------------------------------------------------------------------- */

static struct ask
ask_for(const char *messages)
{
	return (struct ask){ .arena = arena,
		.model = "text-embedding-3-small",
		.task = TASK_EMBEDDINGS,
		.messages = literal(arena, messages) };
}

START_TEST(all_texts_go_in_one_request)
{
	struct ask ask =
	    ask_for("[{'type':'human','content':'a'},"
		    "{'type':'human','content':[{'type':'text','text':'b'}]}]");

	ck_assert_value(arena, openai_embeddings_request(&ask, false, NULL),
	    "{'model':'text-embedding-3-small','input':['a','b'],"
	    "'encoding_format':'base64'}");
	ck_assert_value(arena, openai_embeddings_request_numbers(&ask, false, NULL),
	    "{'model':'text-embedding-3-small','input':['a','b']}");
}
END_TEST

static const struct value *
embeddings_of(const struct value *message)
{
	return value_get(value_get(message, "additional_kwargs"), "embeddings");
}

static const struct value *
answered(const char *body)
{
	const char *error = NULL;
	const struct value *message =
	    openai_embeddings_answer(arena, literal(arena, body), &error);

	ck_assert_msg(message != NULL, "%s: %s", body, error);
	return message;
}

/* Whatever their order in the answer. */
START_TEST(each_text_gets_its_vector)
{
	const struct value *message =
	    answered("{'object':'list','model':'text-embedding-3-small','data':["
		     "{'index':1,'embedding':[0,1]},{'index':0,'embedding':[1,0]}],"
		     "'usage':{'prompt_tokens':5,'total_tokens':5}}");
	const struct value *vectors = embeddings_of(message);

	ck_assert(chat_is(message, "ai"));
	ck_assert_uint_eq(value_size(vectors), 2);
	ck_assert(value_equal(value_at(vectors, 0), vector("[1, 0]")));
	ck_assert(value_equal(value_at(vectors, 1), vector("[0, 1]")));
	ck_assert_value(arena, value_get(message, "usage_metadata"),
	    "{'input_tokens':5,'output_tokens':0,'total_tokens':5}");
	ck_assert_str_eq(
	    value_get_text(value_get(message, "response_metadata"), "model_name"),
	    "text-embedding-3-small");
	/* Servers that leave out what they need not say. */
	vectors =
	    embeddings_of(answered("{'data':[{'embedding':[1,0]},{'embedding':[0,1]}]}"));
	ck_assert(value_equal(value_at(vectors, 1), vector("[0, 1]")));
	ck_assert_uint_eq(value_size(embeddings_of(answered("{'data':[]}"))), 0);
	/* As bytes. */
	vectors = embeddings_of(
	    answered("{'data':[{'embedding':'AACAPwAAIMA='},{'embedding':[0,1]}]}"));
	ck_assert(value_equal(value_at(vectors, 0), vector("[1, -2.5]")));
	ck_assert(value_equal(value_at(vectors, 1), vector("[0, 1]")));
}
END_TEST

static const char *const wrong_answers[] = {
	"{}",
	"{'data':{}}",
	"{'data':[{'embedding':'AAAA'}]}",
	"{'data':[{'embedding':''}]}",
	"{'data':[{'embedding':'AACAPw=!'}]}",
	"{'data':[{'embedding':'AACAfw=='}]}", /* infinite */
	"{'data':[{'embedding':[]}]}",
	"{'data':[{'index':1,'embedding':[1]}]}",
	"{'data':[{'index':0,'embedding':[1]},{'index':0,'embedding':[1]}]}",
	"{'data':['x']}",
};

START_TEST(what_is_no_answer_is_refused)
{
	const char *error = NULL;

	ck_assert_ptr_null(
	    openai_embeddings_answer(arena, literal(arena, wrong_answers[_i]), &error));
	ck_assert_ptr_nonnull(error);
}
END_TEST

/* --- without a model ------------------------------------------------------------------- */

START_TEST(scripted_vectors_are_alike_when_words_are)
{
	struct ask ask = ask_for("[{'type':'human','content':'Green tea, please!'},"
				 "{'type':'human','content':'a cup of green TEA'},"
				 "{'type':'human','content':'the dog barks'},"
				 "{'type':'human','content':''}]");
	const struct value *vectors = embeddings_of(scripted_embeddings(&ask));
	const struct value *tea = value_at(vectors, 0);

	ck_assert_uint_eq(value_size(vectors), 4);
	ck_assert_double_gt(vector_likeness(tea, value_at(vectors, 1)),
	    vector_likeness(tea, value_at(vectors, 2)));
	ck_assert_double_eq_tol(vector_likeness(tea, tea), 1, 1e-6);
	ck_assert_double_gt(
	    vector_likeness(value_at(vectors, 3), value_at(vectors, 3)), 0.9);
}
END_TEST

TCase *
tcase_embeddings(void)
{
	TCase *tcase = tcase_create("embeddings");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_vector_is_its_numbers_in_a_fixed_form);
	tcase_add_test(tcase, only_finite_numbers_are_a_vector);
	tcase_add_test(tcase, likeness_is_the_cosine);
	tcase_add_test(tcase, all_texts_go_in_one_request);
	tcase_add_test(tcase, each_text_gets_its_vector);
	tcase_add_loop_test(tcase, what_is_no_answer_is_refused, 0,
	    (int)(sizeof wrong_answers / sizeof wrong_answers[0]));
	tcase_add_test(tcase, scripted_vectors_are_alike_when_words_are);
	return tcase;
}
